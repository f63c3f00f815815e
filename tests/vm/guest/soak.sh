#!/usr/bin/env bash
# soak.sh BUILD [OPTION...]: what rdma_soak.py says.
set -euo pipefail
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/rdma_soak.py" "$@"
