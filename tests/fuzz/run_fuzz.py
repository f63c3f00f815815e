#!/usr/bin/env python3
"""Runs the fuzz targets under libFuzzer, two at a time on two processors, from the corpora in the repository and the
seeds of the targets; tells what each has executed, reached and found. What it finds stays below the build folder, where
the next run goes on from it and --merge takes it from, into the repository."""

import argparse
import concurrent.futures
import os
import pathlib
import sys

import corpus
import libfuzzer
import record

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADINGS = ("target", "executions", "exec/s", "corpus", "edges", "crashes")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/asan", help="build folder (%(default)s)")
    parser.add_argument("--seconds", type=int, default=60, help="for each target (%(default)s)")
    parser.add_argument("--record", action="store_true", help="add what was executed to record.json and its page")
    parser.add_argument("--merge", action="store_true", help="no fuzzing: keep what earlier runs have found")
    parser.add_argument("targets", nargs="+", metavar="TARGET")
    return parser.parse_args()


def at_once(action, targets):
    """[action(target)...], as many at a time as there are processors."""
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as workers:
        return list(workers.map(action, targets))


def row(cells):
    return cells[0].ljust(24) + "".join(str(cell).rjust(12) for cell in cells[1:])


def fuzz(targets, seconds, recorded):
    """Returns how many targets failed."""

    def one(target):
        result = libfuzzer.fuzz(target, seconds)
        if recorded:
            record.add(result)
        return result

    results = at_once(one, targets)
    print(row(HEADINGS))
    for result in results:
        print(row((result.target.name, result.executions, result.a_second, result.corpus, result.edges,
                   len(result.crashes))))
    failed = [result for result in results if result.failed]
    for result in failed:
        print(f"{result.target.name}: {result.target.log} says what happened")
        for crash in result.crashes:
            print(f"    replay it: build/dev/tests/fuzz/fuzz_{result.target.name} {crash}")
    return len(failed)


def merge(targets):
    for target, (files, size) in zip(targets, at_once(corpus.merge, targets)):
        print(f"{target.name}: {files} files, {size} bytes")
    return 0


def main():
    arguments = parse_arguments()
    targets = [libfuzzer.Target(name, arguments.build) for name in arguments.targets]
    failed = merge(targets) if arguments.merge else fuzz(targets, arguments.seconds, arguments.record)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
