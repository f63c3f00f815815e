#!/usr/bin/env bash
# run.sh BUILD_DIR [NAME] [OPTION...]: a benchmark, report unless another is named. Its question, what it prints and its
# options: run.sh BUILD_DIR NAME --help. Results go to a JSON file beside the build directory (--out FILE: elsewhere),
# tables to the terminal.
set -euo pipefail

die() {
  echo "run.sh: $*" >&2
  exit 2
}

[[ $# -ge 1 && -d $1/bench/macro ]] || die "the first argument is a build directory with the benchmarks"
build=$1
shift
name=report
if [[ ${1:--} != -* ]]; then
  name=$1
  shift
fi
case $name in
  report | quick | busy | trace | current-grpc | vm) program=(macro/harness.py "$name") ;;
  thrift) program=(macro/harness.py report --only='^thrift' --out="$build/../bench_thrift.json") ;;
  core) program=(micro/core.py) ;;
  preload) program=(micro/preload.py) ;;
  large) program=(micro/large_payloads.py) ;;
  rdma) program=(micro/soft_roce.py rdma) ;;
  service) # on the model, then in two guests
    quick=()
    [[ " $* " != *" --quick "* ]] || quick=(--quick)
    [[ " $* " == *" --help "* ]] ||
      python3 -B "$(dirname "${BASH_SOURCE[0]}")/sim/service_sim.py" --build "$build" "${quick[@]}"
    program=(micro/soft_roce.py service)
    ;;
  flock-sim) program=(sim/flock_sim.py) ;;
  service-sim) program=(sim/service_sim.py) ;;
  durable) program=(durable/durable.py) ;;
  durable-calls) program=(durable/durable_calls.py) ;;
  *) die "unknown benchmark '$name'; there are: report quick busy thrift trace current-grpc vm core preload large rdma service service-sim flock-sim durable durable-calls" ;;
esac
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/${program[0]}" "${program[@]:1}" --build "$build" "$@"
