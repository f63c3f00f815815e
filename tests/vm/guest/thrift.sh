#!/usr/bin/env bash
# thrift.sh BUILD [--service]: Thrift's own cross test from one guest to the other, between Skein programs over RDMA alone; with
# --service through a skeind in each guest.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[[ $VM_ROLE == server ]] || wait_for_peer
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/thrift.py" "$@"
