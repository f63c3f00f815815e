"""What else wants the processors while something is measured."""

import contextlib
import os
import sys

from skeintest.child import Child, Silence

PINNED = "a loop on each processor"
LOOPS = ("2 loops", "3 loops", "8 loops")
COMPILERS = "2 compilers"

# Each computes until its parent is gone.
LOOP = """
import os, sys
parent = os.getppid()
if len(sys.argv) > 1:
    os.sched_setaffinity(0, {int(sys.argv[1])})
print("busy", flush=True)
while os.getppid() == parent:
    sum(range(100000))
"""
COMPILER = """
import os, subprocess
parent = os.getppid()
print("busy", flush=True)
while os.getppid() == parent:
    subprocess.run(["c++", "-std=c++20", "-O1", "-x", "c++", "-c", "-o", "/dev/null", "-"],
                   input=b"#include <functional>\\n#include <map>\\n#include <regex>\\nint main() { std::regex all(\\".*\\"); }")
"""


class NotStarted(Exception):
    """A neighbour did not come."""


def _commands(what):
    python = [sys.executable, "-c"]
    if what == PINNED:
        return [[*python, LOOP, str(processor)] for processor in sorted(os.sched_getaffinity(0))]
    if what == COMPILERS:
        return [[*python, COMPILER]] * int(what.split()[0])
    if what in LOOPS:
        return [[*python, LOOP]] * int(what.split()[0])
    if what == "":
        return []
    raise ValueError(f"there are no neighbours called '{what}'")


@contextlib.contextmanager
def beside(what):
    """Neighbours that are there and busy: PINNED, one of LOOPS, COMPILERS, or "" for none."""
    with contextlib.ExitStack() as exits:
        for command in _commands(what):
            neighbour = exits.enter_context(Child(command))
            try:
                neighbour.line()
            except Silence as silence:
                raise NotStarted(f"'{what}' did not start") from silence
        yield
