#!/usr/bin/python3
"""Runs gRPC's own interop cases in every pairing of plain and Skein processes, insecure and over TLS.

Plain means the stock binary, Skein the same binary with the preload library. A case between two Skein processes passes
only if both logged that they used shared memory; one between a Skein and a plain process, only if TCP was used and why.
"""

import argparse
import concurrent.futures
import dataclasses
import pathlib
import re
import sys
import time

import paths
import peers  # puts what is shared on the path
from cases import CASES, RUBY_CASES, Case

from skeintest import kernel, report

# Client kind, client is Skein, server is Skein.
PAIRINGS = {
    "plain/plain": ("cc", False, False),
    "skein/plain": ("cc", True, False),
    "plain/skein": ("cc", False, True),
    "skein/skein": ("cc", True, True),
    "ruby/plain": ("ruby", False, False),
    "ruby+skein/plain": ("ruby", True, False),
    "ruby+skein/skein": ("ruby", True, True),
}
SECURITIES = ("insecure", "tls")
SLEEPERS_AT_ONCE = 16


@dataclasses.dataclass(frozen=True)
class Job:
    case: Case
    pairing: str
    security: str

    def title(self):
        return f"{self.case.name} {self.pairing} {self.security}"


def parse_arguments():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=root / "build/dev", help="build folder (%(default)s)")
    parser.add_argument("--source", type=pathlib.Path, default=root / "build/grpc-source", help="source of gRPC")
    parser.add_argument("--case", default="", metavar="REGEX", help="only cases whose name matches")
    parser.add_argument("--pairing", action="append", choices=list(PAIRINGS), help="only this client/server pairing")
    parser.add_argument("--security", action="append", choices=SECURITIES, help="only this")
    parser.add_argument("--parallel", type=int, default=2, help="cases at once (%(default)s)")
    return parser.parse_args()


def jobs_of(arguments):
    jobs = []
    for pairing in arguments.pairing or PAIRINGS:
        cases = RUBY_CASES if PAIRINGS[pairing][0] == "ruby" else CASES
        for security in arguments.security or SECURITIES:
            jobs += [Job(case, pairing, security) for case in cases if re.search(arguments.case, case.name)]
    return jobs


class Run:
    """One run: a server for each kind that the jobs need, then the jobs, then what the servers have to say."""

    def __init__(self, programs, jobs, logs):
        self.programs, self.jobs, self.logs = programs, jobs, logs
        self.servers = {}  # (is Skein, security) -> Server
        self.results = []

    def start_servers(self):
        kinds = sorted({(PAIRINGS[job.pairing][2], job.security) for job in self.jobs})
        for port, (skein, security) in zip(kernel.free_ports(len(kinds)), kinds):
            log_path = self.logs / f"server-{'skein' if skein else 'plain'}-{security}.log"
            self.servers[skein, security] = peers.Server(self.programs, port, skein, security == "tls", log_path)
        for server in self.servers.values():
            server.wait_until_ready()

    def run_jobs(self, parallel):
        # Cases that sleep must not hold up the others, nor the others them.
        with concurrent.futures.ThreadPoolExecutor(SLEEPERS_AT_ONCE) as sleepers, \
                concurrent.futures.ThreadPoolExecutor(parallel) as workers:
            futures = [(sleepers if job.case.sleeps else workers).submit(self.run_job, job) for job in self.jobs]
            for future in concurrent.futures.as_completed(futures):
                self.results.append(future.result())

    def run_job(self, job):
        kind, client_skein, server_skein = PAIRINGS[job.pairing]
        log_path = self.logs / (re.sub(r"\W+", "-", job.title()) + ".log")
        start = time.monotonic()
        failure, log = peers.run_client(self.programs, kind, job.case, self.servers[server_skein, job.security],
                                        client_skein, log_path)
        if not failure:
            failure = paths.fault(log, "client", server_skein) if client_skein else paths.plain_fault(log)
            if job.case.may_never_connect and not paths.paths_in(log):
                failure = ""
        return report.Result(job, failure, time.monotonic() - start, log_path)

    def stop_servers(self):
        """Ends the servers; how each ended, and what it says of its connections, are results of their own."""
        for (skein, security), server in self.servers.items():
            start = time.monotonic()
            failure = server.stop_fault(peers.STOP_TIMEOUT) or self.server_fault(server, security)
            job = Job(Case(f"{'skein' if skein else 'plain'} server", ""), "-", security)
            self.results.append(report.Result(job, failure, time.monotonic() - start, server.log_path))

    def server_fault(self, server, security):
        """Each Skein client that met a Skein server must have been seen by it on shared memory too."""
        if not server.skein:
            return paths.plain_fault(server.log())
        met = [job for job in self.jobs if job.security == security and PAIRINGS[job.pairing][2]]
        expected = sum(PAIRINGS[job.pairing][1] for job in met if not job.case.may_never_connect)
        seen = sum(path[0] == "server" and path[2] == "shm" for path in paths.paths_in(server.log()))
        return f"{expected} Skein clients, but it logged {seen} uses of shm" if seen < expected else ""


def outcomes(results):
    """What report.keep is given. (What the case proved of its connections' path, peers and paths know.)"""
    for result in sorted(results, key=lambda r: (SECURITIES.index(r.job.security), list(PAIRINGS).index(r.job.pairing))):
        kind, client_skein, server_skein = PAIRINGS[result.job.pairing]
        names = ["stock", "skein"]
        pairing = f"{names[client_skein]}/{names[server_skein]}"
        row = f"gRPC{' from Ruby' if kind == 'ruby' else ''}, {result.job.security}"
        yield row, pairing, "shm" if client_skein and server_skein else "tcp", result.failure


def print_table(results):
    """Cases down, pairings across: the seconds it took, or FAIL."""
    columns = sorted({(r.job.security, r.job.pairing) for r in results if r.job.pairing != "-"},
                     key=lambda c: (SECURITIES.index(c[0]), list(PAIRINGS).index(c[1])))
    cells = {(r.job.case.name, r.job.security, r.job.pairing): r for r in results}
    names = list(dict.fromkeys(case.name for case in CASES + RUBY_CASES))
    for security in SECURITIES:
        pairings = [pairing for column, pairing in columns if column == security]
        if pairings:
            rows = ((name, [cells.get((name, security, pairing)) for pairing in pairings]) for name in names)
            report.print_table(security, pairings, [(name, map(cell_text, row)) for name, row in rows if any(row)])


def cell_text(result):
    if result is None:
        return ""
    return "FAIL" if result.failure else f"{result.seconds:.1f} s"


def main():
    arguments = parse_arguments()
    programs = peers.Programs(arguments.build, arguments.source)
    jobs = jobs_of(arguments)
    if not jobs:
        sys.exit("run_interop: no such case")
    needed = [programs.client, programs.server]
    if any(PAIRINGS[job.pairing][1] or PAIRINGS[job.pairing][2] for job in jobs):
        needed.append(programs.preload)
    for file in needed:
        if not file.exists():
            sys.exit(f"run_interop: {file} is missing: ninja interop builds it")
    logs = arguments.build / "interop/grpc/logs"
    logs.mkdir(parents=True, exist_ok=True)

    run = Run(programs, jobs, logs)
    try:
        run.start_servers()
        run.run_jobs(arguments.parallel)
    finally:
        run.stop_servers()
    print_table(run.results)
    report.keep(logs.parent / "matrix.json", outcomes([r for r in run.results if r.job.pairing != "-"]))
    report.print_failures(run.results)
    return report.close(run.results)


if __name__ == "__main__":
    sys.exit(main())
