#!/usr/bin/env python3
"""Runs the tests that need an RDMA device, in virtual machines, one after another.

A test is an entry here and a script, guest/NAME.sh unless another is named, which gets the build folder as its argument, and
behind that what is said here behind --:

    run_vm.py process_faults -- --times 100
"""

import argparse
import dataclasses
import pathlib
import re
import shlex
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

SOURCE = pathlib.Path(__file__).resolve().parent
LOGS = SOURCE.parents[1] / "build/vm/logs"  # vm.sh's
RESULTS = SOURCE.parents[1] / "build/logs"  # for scripts/failed_tests.py
NO_XML = re.compile("[^\t\n\r -\ufffd]")  # that a console may print


@dataclasses.dataclass(frozen=True)
class Test:
    name: str
    guests: int  # 1, or 2: both run the script, as $VM_ROLE server and client
    seconds: int  # limit for everything as is usual, boot included; several times what it takes without KVM
    options: tuple = ()  # more of vm.sh's
    usual: tuple = ()  # what its script is told unless something is said behind --
    by_name: bool = False  # not unless it is named: it takes long, or judges rates
    script: str = ""  # if it is another test's


TOLD_SECONDS = 2 * 3600  # limit where something is said behind --: how much that is, only its script knows


def few(times, *faults):
    """Some of many faults, that all have their turn in a minute."""
    return (f"--times={times}", *(f"--fault={fault}" for fault in faults))


TESTS = [
    Test("conformance", guests=1, seconds=900),
    # One processor: an emulated one may meet the breakpoint by which Linux 6.12 changes its code, and take it for an error.
    Test("flush", guests=1, seconds=1200, options=("-r", "trixie", "-p", "130", "-c", "1")),
    Test("streams", guests=1, seconds=300),
    Test("two_guests", guests=2, seconds=300),
    Test("interop", guests=2, seconds=900),
    Test("thrift", guests=2, seconds=900),
    Test("service", guests=2, seconds=600),
    Test("service_faults", guests=1, seconds=900, usual=few(2, "server-killed", "client-stopped", "skeind-killed")),
    Test("service_interop", guests=2, seconds=900, script="interop", usual=("--service",), by_name=True),
    Test("service_thrift", guests=2, seconds=900, script="thrift", usual=("--service",), by_name=True),
    Test("service_systemd", guests=1, seconds=600, by_name=True),
    Test("service_soak", guests=1, seconds=3600, script="soak", usual=("--service",), by_name=True),
    Test("faults", guests=2, seconds=900),
    Test("process_faults", guests=1, seconds=600,
         usual=few(2, "server-killed", "no-memory-to-lock", "server-out-of-memory", "clock-set")),
    Test("soak", guests=1, seconds=3600, by_name=True),
    Test("link_faults", guests=2, seconds=600, usual=few(1, "loss-5", "down-1", "device-removed"), by_name=True),
]  # fmt: skip


def parse_arguments():
    root = SOURCE.parents[1]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=root / "build/dev", help="build folder (%(default)s)")
    parser.add_argument("--seconds", type=int, help=f"another limit for each (usually its own, or {TOLD_SECONDS} with options behind --)")
    parser.add_argument("--without", nargs="+", default=[], metavar="NAME", help="all but these, and but what is run by name alone")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these of " + ", ".join(t.name for t in TESTS))
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_args(sys.argv[1:split])
    options.of_scripts = sys.argv[split + 1 :]
    return options


def command_of(test, options):
    """vm.sh, and what it runs in the guests."""
    script = [str(SOURCE / "guest" / f"{test.script or test.name}.sh"), str(options.build.resolve()), *(options.of_scripts or test.usual)]
    seconds = options.seconds or (TOLD_SECONDS if options.of_scripts else test.seconds)
    command = [str(SOURCE / "vm.sh"), "-q", "-n", test.name, "-t", str(seconds), *test.options]
    if test.guests == 2:
        command += ["-s", shlex.join(script)]
    return [*command, "--", *script]


def story(test, process, options):
    """Of a failure as vm.sh tells it; of what was told something, what it answered."""
    if process.returncode != 0:
        return process.stderr
    return (LOGS / f"{test.name}.log").read_text(errors="replace") if options.of_scripts else ""


def stuck(test):
    """Whether a kernel has stood still before its guest was up: an emulated processor's fault, seen on busy machines."""
    logs = [log.read_text(errors="replace") for log in LOGS.glob(f"{test.name}*.log")]
    return any("guest: up after" not in log and "soft lockup" in log for log in logs)


def run(test, options):
    """Its JUnit element, with a failure in it if it has failed."""
    start = time.monotonic()
    for attempt in (1, 2):
        process = subprocess.run(command_of(test, options), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if process.returncode == 0 or attempt == 2 or not stuck(test):
            break
        print(f"{test.name}: a guest's kernel stood still before it was up; once more", flush=True)
    seconds = time.monotonic() - start
    passed = process.returncode == 0
    told = story(test, process, options)
    print(f"{test.name:30} {'passed' if passed else 'FAILED'} {seconds:8.1f} s", flush=True)
    print("".join(f"  | {line}\n" for line in told.splitlines()), end="", flush=True)
    case = ElementTree.Element("testcase", name=test.name, time=f"{seconds:.1f}")
    if not passed:
        ElementTree.SubElement(case, "failure", message=f"status {process.returncode}")
        ElementTree.SubElement(case, "system-out").text = NO_XML.sub("?", told)
    return case


def main():
    arguments = parse_arguments()
    unknown = {*arguments.names, *arguments.without} - {test.name for test in TESTS}
    if unknown:
        print(f"run_vm: no such test: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    unless_named = {test.name for test in TESTS if not test.by_name} - set(arguments.without)
    tests = [test for test in TESTS if test.name in (arguments.names or unless_named)]
    suite = ElementTree.Element("testsuite", name="vm")
    suite.extend(run(test, arguments) for test in tests)
    failed = len(suite.findall(".//failure"))
    RESULTS.mkdir(parents=True, exist_ok=True)
    ElementTree.ElementTree(suite).write(RESULTS / ("-".join(["tests-vm", *arguments.names[:1]]) + ".xml"))
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
