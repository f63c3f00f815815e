#!/usr/bin/env bash
# inside_current_grpc.sh build|test|demo|bench [ARGUMENT...]: what is built, tested and measured of Skein with current gRPC.
# run_current_grpc.sh runs it in a chroot that has that.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"
for part in build test; do
  # shellcheck source=/dev/null
  source "$ROOT/scripts/$part.sh"
done
# shellcheck disable=SC2034  # build_preset takes them
CMAKE_OPTIONS=(-DSKEIN_THRIFT=OFF -DSKEIN_UNITY=all) # several files as one: nobody edits here
failed=()

build() { build_preset "$@" || die "the build failed"; }

# What lies on gRPC, on Abseil or on the compiler, and what whole processes do.
units=(tests/conformance
  tests/unit/{base,channel_shm,link,stream,wait,wire,tools,grpc_transport})
processes='^process\.(test_(breakdown|death|stop|lifecycle|churn|descriptors|identity|mixed|settings|preload|skein_run|paths)|refusal|durable_kills|static_grpc)|^examples\.embedded'

# Calls between programs of this gRPC and of the 1.51 that the machine's own build has, and stock ones of both.
test_both() {
  local other=$HOST_TREE/build/dev
  if [[ ! -x /host$other/tests/system/load/grpc_load ]]; then
    say "run: calls to gRPC 1.51 are left out: there is no $other/tests/system/load/grpc_load"
    return 0
  fi
  python3 -B "$ROOT/interop/grpc/styles.py" --build "$HOST_TREE/build/current-grpc/build/dev" \
    --other "$other" --other_root /host
}

inside_build() {
  build dev {grpc_transport,tools/skein,tests/system,examples/{greeter,counter}}/all "${units[@]/%//all}"
}

inside_test() {
  local folder
  inside_build
  for folder in "${units[@]}"; do
    run_ctest "dev/$folder" --label-exclude source || failed+=("$folder")
  done
  run_ctest dev --tests-regex "$processes" || failed+=("whole processes")
  test_both || failed+=("calls between builds")
  quietly demo "$BUILD/logs/demo.log" "$ROOT/examples/demo.sh" "$BUILD/dev" || failed+=(demo)
  ((${#failed[@]} == 0)) || die "failed: ${failed[*]}"
}

inside_demo() {
  build release {grpc_transport,tools/skein,examples/greeter}/all
  "$ROOT/examples/demo.sh" "$BUILD/release"
}

inside_bench() {
  build release {grpc_transport,tools/skein,bench/macro}/all
  "$ROOT/bench/run.sh" "$BUILD/release" current-grpc "$@"
}

"inside_$1" "${@:2}"
