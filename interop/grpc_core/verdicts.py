"""What is wrong with one run of a case, and what the runs of a case come to."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests"), str(ROOT / "interop/grpc")]

import paths  # noqa: E402
from skeintest.child import end_fault  # noqa: E402

# Each program's last words, whatever the case. Whether anything failed, its exit status says.
PROOF = "TestEnvironment ends"


def stock_fault(status, log, timeout):
    return end_fault(status, log, timeout, (PROOF,)) or paths.plain_fault(log)


def skein_fault(status, log, timeout, over, may_never_connect):
    """`over`: the path of all its connections, of which there must be one unless it may never connect; '': of none."""
    return end_fault(status, log, timeout, (PROOF,)) or path_fault(paths.paths_in(log), over, may_never_connect)


def path_fault(found, over, may_never_connect):
    for side, address, path, reason in found:
        if path != over:
            return f"the {side}'s connection with {address} uses {path}: {reason or 'no reason given'}"
    if over and not found and not may_never_connect:
        return f"it passed, but logged no connection over {over}"
    return ""


def counted(results):
    """`results`: of one case, stock first. Those that count: none if it fails without Skein as well."""
    stock, *others = results
    return [] if stock.failure else others
