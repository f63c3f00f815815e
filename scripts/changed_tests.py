#!/usr/bin/env python3
"""Which tests a change can affect: those of which something has been built or written since they passed last. A test of
sources reads all of them, and is always among these. Prints ctest's option; nothing, if there is no such test.

With --passed FILE --since TIME: notes the tests that passed, of ctest's JUnit file, in a run that began then."""

import argparse
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


SHARED = Path(__file__).resolve().parents[1] / "tests/skeintest"


def notes(build):
    return build / "Testing/passed.json"


def passed(build):
    """{test: when it began to pass last, in seconds since 1970}."""
    try:
        return json.loads(notes(build).read_text())
    except FileNotFoundError:
        return {}


def note(build, results, since):
    times = passed(build)
    for case in ElementTree.parse(results).iter("testcase"):
        times.pop(case.get("name"), None)
        if case.get("status") == "run":
            times[case.get("name")] = since
    notes(build).write_text(json.dumps(times, indent=0) + "\n")


def newest(files):
    return max((file.stat().st_mtime for file in files if file.is_file()), default=0)


def programs(build):
    """Those that scripts run: libraries, and all executables but unit tests."""
    return [file for file in build.rglob("*") if ".so" in file.name or (file.is_file() and os.access(file, os.X_OK))
            and not file.name.endswith("_test")]  # fmt: skip


def newest_of(command, newest_program):
    """Of what this command runs. A script runs its neighbours, what tests share, and programs, of any folder."""
    words = [Path(word) for word in command if word.startswith("/")]
    scripts = [word for word in words if word.suffix == ".py"]
    if not scripts:
        return newest(words)
    neighbours = [file for folder in (SHARED, *(script.parent for script in scripts)) for file in folder.glob("*.py")]
    return max(newest(neighbours), newest_program)


def affected(tests, build):
    """The numbers that ctest gives these tests, of its --show-only=json-v1."""
    times = passed(build)
    newest_program = newest(programs(build))
    numbers = []
    for number, test in enumerate(tests, start=1):
        properties = {each["name"]: each["value"] for each in test["properties"]}
        last = times.get(test["name"], 0)
        if "source" in properties.get("LABELS", []) or newest_of(test["command"], newest_program) >= last:
            numbers.append(number)
    return numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="build folder")
    parser.add_argument("--passed", type=Path, metavar="FILE")
    parser.add_argument("--since", type=float, metavar="TIME")
    options = parser.parse_args()
    if options.passed:
        note(options.build, options.passed, options.since)
        return
    shown = subprocess.run(["ctest", "--show-only=json-v1"], cwd=options.build, check=True, capture_output=True, text=True)
    numbers = affected(json.loads(shown.stdout)["tests"], options.build)
    if numbers:
        print("-I 0,0,0," + ",".join(map(str, numbers)))


if __name__ == "__main__":
    sys.exit(main())
