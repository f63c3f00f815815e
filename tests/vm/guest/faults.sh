#!/usr/bin/env bash
# faults.sh BUILD [TEST...]: gRPC over RDMA from guest to guest, while servers die, links go down, devices are removed, packets lost.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[[ $VM_ROLE == server ]] || wait_for_peer
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/faults.py" "$@"
