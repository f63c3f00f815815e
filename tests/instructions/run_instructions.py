#!/usr/bin/env python3
"""Counts the instructions of the hot paths and compares them with budgets.json. Exit status: 0 within the budgets or
skipped, which it says; 1 over, or not counted."""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

import budgets
import callgrind

AGAIN = 3  # at most
CANNOT = 77  # the status of a test that cannot be run here (scripts/test.sh)
FILE = pathlib.Path(__file__).resolve().parent / "budgets.json"


def ask(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout.strip()


def measure_one(program, path, folder):
    for dump in folder.glob(f"{path}.*"):
        dump.unlink()
    return callgrind.count(program, path, folder)


def measure(program, folder):
    """A Profile of each path's name."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    paths = ask(program, "--list").split()
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as workers:
        profiles = workers.map(lambda path: callgrind.count(program, path, folder), paths)
        return dict(zip(paths, profiles))


def count_again(program, folder, measured, allowed):
    """Counts each path that is over its budget anew, alone, and keeps the least count. Threads of a path meet in another
    order each time, and the longer order is no fault of the code; a path that has become dearer stays over each time."""
    for _ in range(AGAIN):
        for path in budgets.over_budget(measured, allowed):
            print(f"again: {path}, {measured[path].instructions:,.1f} instructions")
            again = measure_one(program, path, folder)
            measured[path] = min(measured[path], again, key=lambda profile: profile.instructions)


def check(measured, allowed, folder):
    print(budgets.table(measured, allowed))
    failures, hints = budgets.judge(measured, allowed)
    for hint in hints:
        print(f"cheaper: {hint} Keep what was gained: {budgets.UPDATE}")
    for failure in failures:
        print(f"failed: {failure}")
    if failures:
        print(f"By line: callgrind_annotate --auto=yes {folder}/PATH.3-01")
        print(f"If that is meant, say why in the commit that has the budgets which this writes: {budgets.UPDATE}")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="of the dev preset, with hot_paths")
    parser.add_argument("--update", action="store_true", help="write the budgets as they are measured now")
    parser.add_argument("--libraries", action="store_true", help="tell whose they are, and compare nothing")
    options = parser.parse_args()
    folder = options.build / "tests/instructions"
    program = folder / "hot_paths"
    about = ask(program, "--about")
    made_for, allowed = budgets.load(FILE)
    if not options.update and not options.libraries and about != made_for:
        print(f"instructions are left out: the budgets are for {made_for}; this is {about}")
        return CANNOT
    try:
        measured = measure(program, folder / "dumps")
    except RuntimeError as error:
        print(f"failed: {error}")
        return 1
    if options.libraries:
        print(budgets.by_library(measured))
        return 0
    count_again(program, folder / "dumps", measured, allowed)
    if not options.update:
        return check(measured, allowed, folder / "dumps")
    print(budgets.table(measured, allowed))
    budgets.save(FILE, about, budgets.updated(measured, allowed))
    print(f"written: {FILE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
