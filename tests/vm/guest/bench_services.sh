#!/usr/bin/env bash
# bench_services.sh OPTION...: what bench_services.py says, in both guests.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[[ $VM_ROLE == server ]] || wait_for_peer
# Whether there is SMC-R then, the first call over it tells.
python3 -B "$(dirname "${BASH_SOURCE[0]}")/smc.py" || echo "SMC could not be set up"
root=$(dirname "${BASH_SOURCE[0]}")/../../..
PYTHONPATH=$root/bench:$root/bench/macro:$root/tests exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/bench_services.py" "$@"
