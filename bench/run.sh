#!/usr/bin/env bash
# run.sh BUILD_DIR [NAME] [OPTION...]: a benchmark, report unless another is named. Its question, what it prints and its
# options: run.sh BUILD_DIR NAME --help. Results go to bench_NAME.json beside the build directory (--out FILE: elsewhere),
# tables to the terminal. --results FILE tells those of an earlier run; nothing need be built then.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# The scripts import harness, and skeintest of tests.
export PYTHONPATH=$here:$here/../tests${PYTHONPATH:+:$PYTHONPATH}

die() {
  echo "run.sh: $*" >&2
  exit 2
}

# script PROGRAM [OPTION...]
script() {
  exec /usr/bin/python3 -B "$here/$1" "${@:2}" --build "$build"
}

# Nothing is to be measured.
only_asks() { [[ " $* " =~ " "(-h|--help|--check|--results)[=\ ] ]]; }

# before PROGRAM [OPTION...]: runs another one first, which takes --quick alone of the options.
before() {
  local program=$1 quick=()
  shift
  [[ " $* " != *" --quick "* ]] || quick=(--quick)
  only_asks "$@" || (script "$program" "${quick[@]}")
}

[[ $# -ge 1 && -d $1/bench/macro ]] || only_asks "$@" || die "the first argument is a build directory with the benchmarks"
build=$1
shift
name=report
if [[ ${1:--} != -* ]]; then
  name=$1
  shift
fi
case $name in
  report | quick | busy | trace | before | current-grpc | vm) script macro/services.py "$name" "$@" ;;
  thrift) script macro/services.py report --only='^thrift' --out="$build/../bench_thrift.json" "$@" ;;
  core | preload | flush) script "micro/$name.py" "$@" ;;
  large) script micro/large_payloads.py "$@" ;;
  rdma) script micro/soft_roce.py rdma "$@" ;;
  service) # on the model, then in two guests
    before sim/service_sim.py "$@"
    script micro/soft_roce.py service "$@"
    ;;
  flock-sim | service-sim | replicate-sim) script "sim/${name/-/_}.py" "$@" ;;
  durable | durable-apps | durable-store | durable-calls | durable-replicas) script "durable/${name/-/_}.py" "$@" ;;
  apps) # SC'21's on the simulated fabric and on real calls, then the examples
    before durable/durable_apps.py "$@"
    before durable/durable_store.py "$@"
    script apps/apps.py "$@"
    ;;
  *) die "unknown benchmark '$name'; there are: report quick busy thrift trace before current-grpc vm core preload large rdma service service-sim flock-sim replicate-sim durable durable-apps durable-store durable-calls durable-replicas apps flush" ;;
esac
