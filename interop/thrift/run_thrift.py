#!/usr/bin/python3
"""Runs Thrift's own tests in every pairing of stock and Skein programs: its cross tests (server types x transports x
protocols) between two processes; its stress test and its Boost tests, each in one process.

Skein means the same source, with Skein's classes in place of Thrift's sockets. Between two Skein programs both require
Skein: what passes did not go over TCP. A Skein program beside a stock one prefers it, and must work over TCP; one that
requires it must refuse. The whole matrix is run for every pairing. What stock programs fail at as well is run with stock
programs only, and must fail: they are listed below the tables. With TLS a few are run for every pairing, Skein preferring
Skein: what the two ends say over TCP must then be the calls, as TLS, and nothing else.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import pathlib
import re
import sys
import time
import typing

import cases
import peers  # puts what is shared on the path

from skeintest import report
from skeintest.child import Silence

SLEEPERS_AT_ONCE = 8


@dataclasses.dataclass(frozen=True)
class Job:
    """A case, and its place: a column of a table."""

    table: str
    column: str
    case: typing.Any
    modes: tuple
    fault: typing.Callable  # of peers: judges (case, status, log)

    def title(self):
        return f"{self.case.name} {self.column} ({self.table})"

    def stem(self):
        """Of its logs' names."""
        return re.sub(r"\W+", "-", self.title()).strip("-")


def jobs_of(pairings):
    for case in cases.CROSS:
        if case.flaw and "stock/stock" in pairings:
            yield Job("cross", "stock/stock", case, cases.PAIRINGS["stock/stock"], peers.flaw_fault)
        elif not case.flaw:
            for pairing in pairings:
                yield Job("cross", pairing, case, cases.PAIRINGS[pairing], peers.client_fault)
    for case in cases.TLS:
        for pairing in pairings:
            yield Job("tls", pairing, case, cases.TLS_PAIRINGS[pairing], peers.client_fault)
    for case in cases.REFUSED:
        for pairing, modes in cases.REFUSALS.items():
            if pairing in pairings:
                yield Job("refused", pairing, case, modes, peers.refusal_fault)
    for case in cases.SOLO:
        for mode in case.modes:
            column = "skein/skein" if mode else "stock/stock"
            if column in pairings:
                yield Job("one process", column, case, (mode,), peers.client_fault)


def run_job(programs, logs, job):
    for attempt in range(1, job.case.attempts + 1):
        result = run_once(programs, logs, job)
        if not result.failure:
            break
        if attempt < job.case.attempts:
            print(f"{job.title()}: attempt {attempt} of {job.case.attempts} failed: {result.failure}", file=sys.stderr)
    return result


def run_once(programs, logs, job):
    log_path = logs / f"{job.stem()}.log"
    start = time.monotonic()
    if job.table == "one process":
        failure = job.fault(job.case, *peers.run_solo(programs, job.case, job.modes[0], log_path))
    else:
        try:
            *ended, server_fault = peers.run_pair(programs, job.case, job.modes, log_path, logs / f"{job.stem()}-server.log")
            failure = job.fault(job.case, *ended) or server_fault
        except Silence as error:
            failure = str(error)
    return report.Result(job, failure, time.monotonic() - start, log_path)


def run_jobs(programs, logs, jobs, parallel):
    # Cases that sleep must not hold up the others, nor the others them.
    with concurrent.futures.ThreadPoolExecutor(SLEEPERS_AT_ONCE) as sleepers, \
            concurrent.futures.ThreadPoolExecutor(parallel) as workers:
        futures = [(sleepers if job.case.sleeps else workers).submit(run_job, programs, logs, job) for job in jobs]
        return [future.result() for future in futures]


def outcomes(results, fast="shm", row="Thrift"):
    """What report.keep is given."""
    for result in results:
        if result.job.table == "cross" and not result.job.case.flaw:
            yield row, result.job.column, fast if result.job.column == "skein/skein" else "tcp", result.failure
        elif result.job.table == "tls":
            yield f"{row}, tls", result.job.column, "tcp", result.failure


def print_tables(results):
    """Rows of cases down, pairings across: how many passed and how long they took, or how many failed."""
    tables = collections.defaultdict(lambda: collections.defaultdict(list))  # table -> (row, column) -> results
    for result in results:
        tables[result.job.table][result.job.case.row, result.job.column].append(result)
    for title, cells in tables.items():
        columns = [pairing for pairing in cases.PAIRINGS if any(column == pairing for _, column in cells)]
        rows = dict.fromkeys(row for row, _ in cells)
        report.print_table(title, columns, [(row, [cell_text(cells.get((row, column))) for column in columns]) for row in rows])


def cell_text(results):
    if not results:
        return ""
    failed = sum(bool(result.failure) for result in results)
    if len(results) == 1:
        return "FAIL" if failed else f"{results[0].seconds:.1f} s"
    return f"{failed} of {len(results)} FAIL" if failed else f"{len(results)} in {sum(r.seconds for r in results):.1f} s"


def print_flaws(results):
    for result in results:
        if result.job.case.flaw and not result.failure:
            print(f"\nfailed as expected, being stock: {result.job.case.name}: {result.job.case.flaw}")


def parse_arguments():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=root / "build/dev", help="build folder (%(default)s)")
    parser.add_argument("--case", default="", metavar="REGEX", help="only cases whose name matches")
    parser.add_argument("--pairing", action="append", choices=list(cases.PAIRINGS), help="only this client/server pairing")
    parser.add_argument("--parallel", type=int, default=2, help="cases at once (%(default)s)")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    jobs = [job for job in jobs_of(arguments.pairing or cases.PAIRINGS) if re.search(arguments.case, job.case.name)]
    if not jobs:
        sys.exit("run_thrift: no such case")
    programs = peers.Programs(arguments.build)
    for file in sorted({file for job in jobs for file in programs.of(job.case, job.modes)}):
        if not file.exists():
            sys.exit(f"run_thrift: {file} is missing: ninja thrift_tests builds it")
    logs = arguments.build / "interop/thrift/logs"
    logs.mkdir(parents=True, exist_ok=True)

    results = run_jobs(programs, logs, jobs, arguments.parallel)
    print_tables(results)
    report.keep(logs.parent / "matrix.json", outcomes(results))
    print_flaws(results)
    report.print_failures(results)
    return report.close(results)


if __name__ == "__main__":
    sys.exit(main())
