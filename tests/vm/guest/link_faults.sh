#!/usr/bin/env bash
# link_faults.sh BUILD [OPTION...]: what link_faults.py says, in both guests.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[[ $VM_ROLE == server ]] || wait_for_peer
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/link_faults.py" "$@"
