#!/usr/bin/env bash
# inside.sh [build]: builds and tests Skein on another release of Debian, or builds it alone. run_debian.sh runs it there.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"
for part in source_packages setup build test packages; do
  # shellcheck source=/dev/null
  source "$ROOT/scripts/$part.sh"
done

# What differs between releases: what lies on rdma-core, on gRPC and on Thrift.
tested=(tests/conformance tests/unit/{fabric_verbs,grpc_transport,thrift_transport})
demo=(grpc_transport tools/skein examples/{greeter,calculator})
# shellcheck disable=SC2034  # build_preset takes them
CMAKE_OPTIONS=(-DSKEIN_UNITY=all) # several files as one: nobody edits here
failed=()

verb_setup
build_preset dev "${tested[@]/%//all}" "${demo[@]/%//all}" || die "the build failed"
[[ ${1:-} != build ]] || exit 0
for folder in "${tested[@]}"; do
  run_ctest "dev/$folder" || failed+=("$folder")
done
quietly demo "$BUILD/logs/demo.log" "$ROOT/examples/demo.sh" "$BUILD/dev" || failed+=(demo)
(test_packages) || failed+=(packages)
((${#failed[@]} == 0)) || die "failed: ${failed[*]}"
