#!/usr/bin/env python3
"""Names the failed tests of ctest's JUnit files, with the end of what each printed: a long run says it again at its end."""

import argparse
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

LINES = 60


def tell(results: Path) -> int:
    """Prints the failed tests of one file and returns how many there are."""
    failed = 0
    for case in ElementTree.parse(results).getroot().iter("testcase"):
        failure = case.find("failure")
        if failure is None:
            continue
        failed += 1
        output = (case.findtext("system-out") or "").splitlines()
        print(f"--- {results.stem}: {case.get('name')}: {failure.get('message')}, after {float(case.get('time')):.1f} s")
        if len(output) > LINES:
            print(f"... {len(output) - LINES} lines before")
        print("\n".join(output[-LINES:]))
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="+", type=Path, help="JUnit files, as ctest --output-junit writes them")
    failed = sum(tell(results) for results in parser.parse_args().results)
    print(f"{failed} tests of ctest's failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
