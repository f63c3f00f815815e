#!/usr/bin/env bash
# bench_rdma.sh BUILD ROUNDS SEED: what bench_rdma.py says, in both guests.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[[ $VM_ROLE == server ]] || wait_for_peer
gid=$(gid_index "$VM_ADDRESS") || fail "rxe0 has no GID for $VM_ADDRESS"
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/bench_rdma.py" "$@" "$gid"
