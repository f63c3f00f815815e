#!/usr/bin/env bash
# interop.sh BUILD [--service]: gRPC's own interop cases from one guest to the other, over RDMA alone, insecure and over TLS; then calls in
# every style, over RDMA, and over TCP where one end is stock. With --service each guest's programs use RDMA
# through its skeind.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[[ $VM_ROLE == server ]] || wait_for_peer
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/interop.py" "$@"
