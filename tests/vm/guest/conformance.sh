#!/usr/bin/env bash
# conformance.sh BUILD: every fabric conformance test, on rxe0.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

gtests "$1/tests/conformance/fabric_conformance_test" '*verbs*' 100
# Requests flushed into a peer's memory, in all four modes.
gtests "$1/tests/conformance/durable_flush_conformance_test" '*verbs*' 30
