#!/usr/bin/env python3
"""Names the failed tests of JUnit files, with the first and last lines that each printed: a long run says it again at
its end. Where one test is a whole GoogleTest binary, the cases that failed are named, each with its own lines."""

import argparse
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

FIRST = 30  # a sanitizer says first what it has found
LAST = 30
BEGIN = re.compile(r"\[ RUN      \] (\S+)")
END = re.compile(r"\[(       OK |  SKIPPED |  FAILED  )\] ([^\s,]+).* \(\d+ ms\)")

# As ThreadSanitizer prints it where it may ask no other process for names: cmake/sanitizer_defaults.cc.
FRAME = re.compile(r"<null> <null> \((\S+)\+(0x[0-9a-f]+)\)")


def with_names(lines, builds):
    """Names the functions of a sanitizer's report whose program is in one of these folders."""
    programs = {}

    def name(frame):
        program, address = frame.groups()
        if program not in programs:
            programs[program] = next((file for build in builds for file in build.rglob(program) if file.is_file()), None)
        if programs[program] is None:
            return frame[0]
        asked = subprocess.run(["llvm-symbolizer", f"--obj={programs[program]}", address], capture_output=True, text=True)
        function, place, *_ = asked.stdout.splitlines() or [frame[0], ""]
        return f"{function} {place}"

    return [FRAME.sub(name, line) for line in lines]


def failed_cases(lines):
    """Yields (name, lines) of the cases that failed, out of the output of a GoogleTest binary. A case that has begun and
    not ended is one of them: the process ended in it."""
    name = begin = None
    for number, line in enumerate(lines):
        if begun := BEGIN.match(line):
            name, begin = begun[1], number
        elif (ended := END.search(line)) and ended[2] == name:
            if ended[1].strip() == "FAILED":
                yield name, lines[begin : number + 1]
            name = None
    if name is not None:
        yield name, lines[begin:]


def print_ends(lines):
    """The first and the last of them."""
    between = len(lines) - FIRST - LAST
    if between > 0:
        lines = [*lines[:FIRST], f"... {between} lines between", *lines[-LAST:]]
    print("\n".join(lines))


def tell(results: Path) -> int:
    """Prints the failed tests of one file and returns how many there are."""
    failed = 0
    try:
        cases = ElementTree.parse(results).getroot().iter("testcase")
    except ElementTree.ParseError:
        print(f"--- {results.stem}: there are no results: the run ended early")
        return 0
    for case in cases:
        failure = case.find("failure")
        if failure is None:
            continue
        failed += 1
        output = (case.findtext("system-out") or "").splitlines()
        if shutil.which("llvm-symbolizer"):
            output = with_names(output, [results.parent.parent / build for build in ("tsan", "asan")])
        print(f"--- {results.stem}: {case.get('name')}: {failure.get('message')}, after {float(case.get('time')):.1f} s")
        parts = list(failed_cases(output))
        for name, lines in parts:
            print(f"-- {name}")
            print_ends(lines)
        if not parts:
            print_ends(output)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="*", type=Path, help="as ctest --output-junit writes them, and tests/vm/run_vm.py")
    failed = sum(tell(results) for results in parser.parse_args().results)
    print(f"{failed} tests failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
