#!/usr/bin/env bash
# process_faults.sh BUILD [OPTION...]: what process_faults.py says.
set -euo pipefail
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/process_faults.py" "$@"
