#!/usr/bin/env bash
# bench_rdma.sh BUILD ROUNDS SEED rdma|service: what bench_rdma.py says, in both guests; for service with a skeind in each.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[[ $VM_ROLE == server ]] || wait_for_peer
gid=$(gid_index "$VM_ADDRESS") || fail "rxe0 has no GID for $VM_ADDRESS"
if [[ $4 == service ]]; then
  mkdir -p /run/skeind
  # As the package's unit has it: all ends spin, and there are more of them than processors.
  SKEIN_RDMA_TIMEOUT=18 nice -n -10 "$1/tools/skeind/skeind" --device rxe0 &
  within 30 test -S /run/skeind/skeind.sock || fail "skeind does not listen"
fi
root=$(dirname "${BASH_SOURCE[0]}")/../../..
PYTHONPATH=$root/bench/macro:$root/tests exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/bench_rdma.py" "$@" "$gid"
