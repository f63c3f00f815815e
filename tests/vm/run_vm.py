#!/usr/bin/env python3
"""Runs the tests that need an RDMA device, in virtual machines, one after another.

A test is an entry here and a script of its name, guest/NAME.sh, which gets the build folder as its argument.
"""

import argparse
import dataclasses
import pathlib
import shlex
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Test:
    name: str
    guests: int  # 1, or 2: both run the script, as $VM_ROLE server and client
    seconds: int  # limit for everything, boot included; several times what it takes without KVM
    options: tuple = ()  # more of vm.sh's


TESTS = [
    Test("conformance", guests=1, seconds=900),
    Test("streams", guests=1, seconds=300),
    Test("two_guests", guests=2, seconds=300),
    Test("interop", guests=2, seconds=900),
    Test("thrift", guests=2, seconds=900),
    Test("faults", guests=2, seconds=900),
]


def parse_arguments():
    root = SOURCE.parents[1]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=root / "build/dev", help="build folder (%(default)s)")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these of " + ", ".join(t.name for t in TESTS))
    return parser.parse_args()


def command_of(test, build):
    """vm.sh, and what it runs in the guests."""
    script = [str(SOURCE / "guest" / f"{test.name}.sh"), str(build)]
    command = [str(SOURCE / "vm.sh"), "-q", "-n", test.name, "-t", str(test.seconds), *test.options]
    if test.guests == 2:
        command += ["-s", shlex.join(script)]
    return [*command, "--", *script]


def run(test, build):
    """Whether it passed. A failure's story is vm.sh's to tell."""
    start = time.monotonic()
    process = subprocess.run(command_of(test, build), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    passed = process.returncode == 0
    print(f"{test.name:30} {'passed' if passed else 'FAILED'} {time.monotonic() - start:8.1f} s", flush=True)
    if not passed:
        print("".join(f"  | {line}\n" for line in process.stderr.splitlines()), end="", flush=True)
    return passed


def main():
    arguments = parse_arguments()
    unknown = set(arguments.names) - {test.name for test in TESTS}
    if unknown:
        sys.exit(f"run_vm: no such test: {', '.join(sorted(unknown))}")
    tests = [test for test in TESTS if not arguments.names or test.name in arguments.names]
    results = [run(test, arguments.build.resolve()) for test in tests]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
