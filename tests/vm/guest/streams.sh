#!/usr/bin/env bash
# streams.sh BUILD: the promises of a Stream, and of groups of core/replicate over streams, on rxe0.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

gtests "$1/tests/unit/stream/stream_test" '*/rdma' 18
gtests "$1/tests/conformance/replicate_conformance_test" '*/rdma' 18
