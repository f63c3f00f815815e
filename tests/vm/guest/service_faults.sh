#!/usr/bin/env bash
# service_faults.sh BUILD [OPTION...]: what service_faults.py says.
set -euo pipefail
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/service_faults.py" "$@"
