#!/usr/bin/env bash
# run.sh BUILD_DIR [rdma|core|large|thrift|flock-sim] [--quick] [--out FILE] [--seed N]: the benchmarks of whole
# processes, or with rdma those of Soft-RoCE in two virtual machines, with core those of core/rpc's calls and of many
# streams, with large those of large payloads, with thrift those of a Thrift service, with flock-sim FLOCK's experiments
# on a model. Results go to a JSON file (default BUILD_DIR/../bench.json, bench_rdma.json, bench_core.json,
# bench_large_payloads.json, bench_thrift.json, flock_sim.json), a table to the terminal.
set -euo pipefail

if [[ $# -lt 1 || ! -x $1/bench/micro/bench_fabric ]]; then
  parts='rdma|core|large|thrift|flock-sim'
  echo "usage: $0 BUILD_DIR [$parts] [--quick] [--out FILE] [--seed N] (with the benchmarks built)" >&2
  exit 2
fi
build=$1
shift
program=macro/compare.py
case ${1:-} in
  rdma) program=micro/soft_roce.py ;;
  core) program=micro/core.py ;;
  large) program=micro/large_payloads.py ;;
  thrift) program=thrift/thrift.py ;;
  flock-sim) program=sim/flock_sim.py ;;
esac
[[ $program == macro/* ]] || shift
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/$program" --build "$build" "$@"
