#!/usr/bin/env bash
# run.sh BUILD_DIR [--quick] [--out FILE] [--seed N]: the benchmarks of whole processes; results go to a JSON file
# (default BUILD_DIR/../bench.json), a table to the terminal.
set -euo pipefail

if [[ $# -lt 1 || ! -x $1/bench/macro/bench_echo_server ]]; then
  echo "usage: $0 BUILD_DIR [--quick] [--out FILE] [--seed N] (with the benchmarks built)" >&2
  exit 2
fi
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/macro/compare.py" --build "$@"
