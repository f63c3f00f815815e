#!/usr/bin/env bash
# bench_flush.sh BUILD SIZES ROUNDS SEED: bench_flush's lines of JSON for each of the sizes (64,1024), on Soft-RoCE and an
# emulated NVDIMM, in $VM_RESULTS/results.json.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/dax.sh"

for bytes in ${2//,/ }; do
  "$1/bench/micro/bench_flush" --bytes="$bytes" --rounds="$3" --seed="$4" --dax="$SKEIN_TEST_DAX_DEVICE" >>"$VM_RESULTS/results.json" ||
    fail "bench_flush"
done
