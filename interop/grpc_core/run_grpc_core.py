#!/usr/bin/python3
"""Runs gRPC's own end-to-end cases of its core, each in a process of its own: stock over TCP, then the same program with the
preload library. Every case that passes over TCP must pass with Skein, and over the path that its fixture is to use. One that
fails over TCP is told and not counted.
"""

import argparse
import concurrent.futures
import dataclasses
import pathlib
import random
import re
import sys
import time

import fixtures
import verdicts  # puts the shared helpers on the path

from skeintest import child, report


@dataclasses.dataclass(frozen=True)
class Variant:
    """A way to run a program: stock, or with Skein and perhaps a value of SKEIN_CALLS."""

    name: str
    skein: bool
    calls: str = ""

    def environment(self, preload):
        environment = child.clean_environment("GRPC_")
        environment["GRPC_VERBOSITY"] = "info"
        if self.skein:
            environment.update(LD_PRELOAD=str(preload), SKEIN_GRPC="prefer")
        if self.calls:
            environment["SKEIN_CALLS"] = self.calls
        return environment


STOCK = Variant("stock", False)


@dataclasses.dataclass(frozen=True)
class Job:
    fixture: fixtures.Fixture
    case: str
    variant: Variant

    def title(self):
        return f"{self.fixture.name} {self.case} {self.variant.name}"


class Programs:
    def __init__(self, arguments):
        self.folder = arguments.build.resolve() / "interop/grpc_core"
        self.preload = arguments.build.resolve() / "grpc_transport/libskein_grpc_preload.so"
        self.source = arguments.source
        self.timeout = arguments.timeout
        self.logs = self.folder / "logs"

    def missing(self, wanted):
        return [file for file in [self.preload] + [self.folder / fixture.name for fixture in wanted] if not file.exists()]

    def run(self, job):
        log_path = self.logs / (re.sub(r"\W+", "-", job.title()) + ".log")
        start = time.monotonic()
        # The fixtures with TLS find their certificates from where the source is.
        status, log = child.run_to_end([str(self.folder / job.fixture.name), job.case],
                                           job.variant.environment(self.preload), log_path, self.timeout, self.source)
        if job.variant.skein:
            failure = verdicts.skein_fault(status, log, self.timeout, job.fixture.over,
                                           job.case in fixtures.MAY_NEVER_CONNECT)
        else:
            failure = verdicts.stock_fault(status, log, self.timeout)
        return report.Result(job, failure, time.monotonic() - start, log_path)

    def run_case(self, fixture, case, variants):
        return [self.run(Job(fixture, case, variant)) for variant in variants]


def pattern(text):
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(error) from None


def number(text):
    if int(text) < 1:
        raise ValueError
    return int(text)


def parse_arguments():
    root = pathlib.Path(__file__).resolve().parents[2]
    names = [fixture.name for fixture in fixtures.FIXTURES]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=root / "build/dev", help="build folder (%(default)s)")
    parser.add_argument("--source", type=pathlib.Path, default=root / "build/grpc-source", help="source of gRPC")
    parser.add_argument("--cases", type=pattern, default="", metavar="REGEX", help="only cases whose name matches")
    parser.add_argument("--fixtures", type=lambda text: text.split(","), default=names, metavar="NAME,...",
                        help=f"only these (of {', '.join(names)})")
    parser.add_argument("--calls", type=lambda text: text.split(","), default=[], metavar="VALUE,...",
                        help="with Skein once for each of these values of SKEIN_CALLS (once, without it)")
    parser.add_argument("--sample", type=number, metavar="N", help="only so many cases of all fixtures, by chance")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="of --sample (told)")
    parser.add_argument("--parallel", type=number, default=4, help="cases at once (%(default)s); they mostly sleep")
    parser.add_argument("--timeout", type=number, default=120, help="seconds for a case (%(default)s; the longest takes 20)")
    parser.add_argument("--check", action="store_true", help="only look at these options")
    arguments = parser.parse_args()
    if unknown := set(arguments.fixtures) - set(names):
        parser.error(f"no such fixture: {', '.join(sorted(unknown))}; there are: {', '.join(names)}")
    return arguments


def chosen(arguments, suite):
    """(fixture, case) of each that is asked for."""
    wanted = [fixture for fixture in fixtures.FIXTURES if fixture.name in arguments.fixtures]
    pairs = [(fixture, case) for fixture in wanted for case in suite.cases(fixture) if re.search(arguments.cases, case)]
    if arguments.sample and arguments.sample < len(pairs):
        print(f"run_grpc_core: {arguments.sample} of {len(pairs)} cases, --seed {arguments.seed}")
        pairs = random.Random(arguments.seed).sample(pairs, arguments.sample)
    return pairs


def run_all(programs, pairs, variants, parallel):
    """The results of each case, stock first."""
    with concurrent.futures.ThreadPoolExecutor(parallel) as workers:
        return list(workers.map(lambda pair: programs.run_case(*pair, variants), pairs))


def print_table(cases, variants):
    """Fixtures down, variants across."""
    rows = []
    for fixture in fixtures.FIXTURES:
        of_fixture = [case for case in cases if case[0].job.fixture == fixture]
        if of_fixture:
            cells = [f"{sum(not case[0].failure for case in of_fixture)} of {len(of_fixture)}"]
            counted = [verdicts.counted(case) for case in of_fixture]
            for index in range(len(variants) - 1):
                runs = [case[index] for case in counted if case]
                cells.append(f"{sum(not run.failure for run in runs)} of {len(runs)}")
            rows.append((fixture.name, cells))
    report.print_table("passed of gRPC's cases", [variant.name for variant in variants], rows)


def main():
    arguments = parse_arguments()
    if arguments.check:
        return 0
    programs = Programs(arguments)
    pairs = chosen(arguments, fixtures.Suite(arguments.source))
    if not pairs:
        sys.exit("run_grpc_core: no such case")
    if missing := programs.missing({fixture for fixture, _ in pairs}):
        sys.exit(f"run_grpc_core: {missing[0]} is missing: ninja grpc_core builds it")
    programs.logs.mkdir(parents=True, exist_ok=True)
    with_skein = [Variant(f"calls={value}", True, value) for value in arguments.calls] or [Variant("skein", True)]
    variants = [STOCK, *with_skein]

    cases = run_all(programs, pairs, variants, arguments.parallel)
    print_table(cases, variants)
    for stock, *_ in cases:
        if stock.failure:
            print(f"\nnot counted, fails over TCP as well: {stock.job.title()}: {stock.failure}\n  log: {stock.log_path}")
    counted = [run for case in cases for run in verdicts.counted(case)]
    report.print_failures(counted)
    if not counted:
        sys.exit("run_grpc_core: no case passes over TCP: nothing was compared")
    return report.close(counted)


if __name__ == "__main__":
    sys.exit(main())
