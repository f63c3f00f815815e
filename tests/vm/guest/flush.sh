#!/usr/bin/env bash
# flush.sh BUILD: FLUSH, of a kernel and a library that have it, to an emulated NVDIMM's persistent memory.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/dax.sh"

"$1/tools/skein/skein" doctor | grep FLUSH
conformance=$1/tests/conformance
# None of them is skipped but the one for devices without.
gtests "$conformance/fabric_conformance_test" '*Flushes*verbs*' 7
# Linux 6.12's Soft-RoCE loses the shared receive that a failing queue pair has taken; 6.1's gives it back.
gtests "$conformance/fabric_conformance_test" '*verbs*-*AQueuePairThatFailsAmidAMessageGivesItsReceiveBack*' 106
gtests "$conformance/durable_flush_conformance_test" '*OnPersistentMemory*verbs*' 2
gtests "$conformance/durable_flush_conformance_test" '*verbs*' 32
# FLUSH beside the READ that stands in for it. The figures are for who reads the log.
for bytes in 64 4096; do
  "$1/bench/micro/bench_flush" --bytes=$bytes --rounds=300 --dax="$SKEIN_TEST_DAX_DEVICE" || fail "bench_flush"
done
