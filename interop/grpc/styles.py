#!/usr/bin/python3
"""Calls in every style that gRPC has at both ends, between stock processes and Skein's, insecure and over TLS.

A client makes so many calls of one kind, of any size, and checks every byte (tests/system/load). It passes if all went well, and
went where the pairing has them go: it says so itself, and so do the servers' logs. A stock process has no Skein in it: it
never calls Init(). The last pairing's processes have it, but nothing to use it over.

With --other, another build's programs are peers, too: those of another gRPC.
"""

import argparse
import collections
import dataclasses
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import paths  # noqa: E402
from skeintest import loads, report  # noqa: E402
from skeintest.certificate import make_certificate  # noqa: E402
from skeintest.child import Silence  # noqa: E402

# Of clients: the kinds of their calls (tests/system/load/grpc_calls.h).
STYLES = {"blocking": ("blocking",), "queue": ("queued",), "callback": ("callback",), "streams": ("chat", "get", "put")}
KINDS = tuple(kind for kinds in STYLES.values() for kind in kinds)
# Of servers.
APIS = ("sync", "callback", "queue")
SECURITIES = ("insecure", "tls")
PATIENCE = 120  # seconds for a client

NOT_SKEIN = "tcp: peer does not speak Skein"
NO_OFFER = "tcp: peer made no offer"
SWITCHED_OFF = "tcp: switched off"

# Client, server, and how what they say of their connections begins; None: nothing.
Pairing = collections.namedtuple("Pairing", "client server client_says server_says")


def pairings_over(fast):
    """`fast`: what two Skein processes use."""
    return {
        "stock/stock": Pairing("stock", "stock", "tcp: stock", None),
        "skein/stock": Pairing("skein", "stock", NOT_SKEIN, None),
        "stock/skein": Pairing("stock", "skein", "tcp: stock", NO_OFFER),
        "skein/skein": Pairing("skein", "skein", fast, fast),
        "skein/skein, tcp": Pairing("skein, tcp", "skein, tcp", SWITCHED_OFF, NO_OFFER),
    }


def pairings_with_others(fast):
    """Of this build's processes and another build's."""
    return {
        "skein/other skein": Pairing("skein", "other skein", fast, fast),
        "other skein/skein": Pairing("other skein", "skein", fast, fast),
        "skein/other stock": Pairing("skein", "other stock", NOT_SKEIN, None),
        "other skein/stock": Pairing("other skein", "stock", NOT_SKEIN, None),
        "stock/other skein": Pairing("stock", "other skein", "tcp: stock", NO_OFFER),
        "other stock/skein": Pairing("other stock", "skein", "tcp: stock", NO_OFFER),
    }


@dataclasses.dataclass(frozen=True)
class Scene:
    """Who calls whom, where and how much."""

    build: pathlib.Path
    results: pathlib.Path  # logs and certificates
    fast: str = "shm"
    pairings: dict = dataclasses.field(default_factory=lambda: pairings_over("shm"))
    kinds: tuple = KINDS
    calls: int = 20  # of each kind
    host: str = "127.0.0.1"  # the servers'
    flags: tuple = ()  # clients' others
    settings: dict = dataclasses.field(default_factory=dict)
    other: pathlib.Path | None = None  # the build of the peers that are called so
    other_root: pathlib.Path = pathlib.Path("/")  # where its programs find their libraries

    def build_of(self, peer):
        """Whose programs they are, and the words before their command."""
        if not peer.startswith("other"):
            return self.build, ()
        return self.other, () if self.other_root == pathlib.Path("/") else ("chroot", str(self.other_root))

    def peers(self, end):
        """Of the pairings, at this end."""
        return dict.fromkeys(getattr(pairing, end) for pairing in self.pairings.values())

    def how(self, peer, log_name):
        """The path and the rest of a program's arguments."""
        mode, path = {"stock": ("stock", "tcp"), "skein": ("prefer", self.fast), "skein, tcp": ("prefer", "tcp")}[
            peer.removeprefix("other ")
        ]
        settings = {"GRPC_VERBOSITY": "info", **self.settings}  # the log says which path each connection uses
        return path, {"mode": mode, "settings": settings, "log": self.results / f"{log_name}.log"}


@dataclasses.dataclass(frozen=True)
class Job:
    """A client's calls to one server."""

    pairing: str
    kind: str
    api: str
    security: str

    def title(self):
        return f"{self.kind} at {self.api}, {self.pairing}, {self.security}"


class Server:
    def __init__(self, scene, peer, api, security, certificate):
        self.name = " ".join((peer, api, security))
        self._scene, self._peer = scene, peer
        flags = [f"--api={api}"]
        if security == "tls":
            flags += [f"--tls_cert={certificate[0]}", f"--tls_key={certificate[1]}"]
        path, how = scene.how(peer, f"server {self.name}")
        self._log = how["log"]
        build, prefix = scene.build_of(peer)
        self._program = loads.Server(build, "grpc", path, f"{scene.host}:0", flags, prefix=prefix, **how)

    def title(self):
        return f"server: {self.name}"

    def address(self):
        return self._program.address()

    def stop(self):
        """As a result: how it ended, and what it has logged."""
        start = time.monotonic()
        return report.Result(self, self._end_fault(), time.monotonic() - start, self._log)

    def _end_fault(self):
        fault = self._program.end_fault()
        wanted = {p.server_says: len(self._scene.kinds) for p in self._scene.pairings.values() if p.server == self._peer}
        return fault or log_fault(self._log.read_text(errors="replace"), wanted)

    def kill(self):
        self._program.close()


def start_servers(scene):
    certificate = make_certificate(scene.results)
    return [Server(scene, peer, api, security, certificate)
            for peer in scene.peers("server") for api in APIS for security in SECURITIES]  # fmt: skip


def call(scene, addresses, certificate):
    """All clients' calls, client by client; `addresses`: of servers by name. Yields a result for each server called."""
    for security in SECURITIES:
        for peer in scene.peers("client"):
            for kind in scene.kinds:
                pairings = [name for name, pairing in scene.pairings.items() if pairing.client == peer]
                jobs = [Job(pairing, kind, api, security) for pairing in pairings for api in APIS]
                yield from call_servers(scene, addresses, certificate, peer, jobs)


def call_servers(scene, addresses, certificate, peer, jobs):
    """By one client."""
    kind, security = jobs[0].kind, jobs[0].security
    path, how = scene.how(peer, f"client {peer} {kind} {security}")
    flags = [f"--kinds={kind}", "--threads=1", "--connections=1", f"--calls_each={scene.calls}", "--hurried=0", "--cancelled=0",
             "--deadline=30s", "--connecting=30s", *scene.flags]  # fmt: skip
    if security == "tls":
        flags.append(f"--tls_ca={certificate}")
    servers = [addresses[" ".join((scene.pairings[job.pairing].server, job.api, security))] for job in jobs]
    start = time.monotonic()
    build, prefix = scene.build_of(peer)
    client = loads.Client(build, "grpc", path, servers, flags, prefix=prefix, **how)
    try:
        reports = client.last_report(PATIENCE)
        failures = [report_fault(of, scene.pairings[job.pairing].client_says, scene.calls) for job, of in zip(jobs, reports)]
    except Silence as error:
        failures = [str(error)] * len(jobs)
    finally:
        client.close()
    if peer.endswith("stock") and (fault := paths.plain_fault(how["log"].read_text(errors="replace"))):
        failures = [fault] * len(jobs)
    return [report.Result(job, failure, time.monotonic() - start, how["log"]) for job, failure in zip(jobs, failures)]


def report_fault(of_server, says, calls):
    """What is wrong with a client's report (tests/system/load/tally.h) of that many calls, or ''. `says`: how their path begins."""
    if of_server["wrong"]:
        return f"{of_server['wrong']} wrong answers: {of_server['what']}"
    if of_server["statuses"] != {"OK": calls}:
        return f"{calls} calls ended with {of_server['statuses']}: {of_server['why']}"
    if sum(count for path, count in of_server["paths"].items() if path.startswith(says)) != calls:
        return f"{calls} calls were to use {says}, and used {of_server['paths']}"
    return ""


def log_fault(log, wanted):
    """What is wrong with the connections that a server has logged, or ''. `wanted`: how many there are at least, by how what is
    said of their path begins. (A client that has lost patience connects twice.)"""
    logged = [f"{path}: {reason}" if reason else path for side, _, path, reason in paths.paths_in(log) if side == "server"]
    wanted = {says: count for says, count in wanted.items() if says}
    for says, count in wanted.items():
        seen = sum(path.startswith(says) for path in logged)
        if seen < count:
            return f"{count} connections were to use {says}, and it has logged {seen}"
    others = sorted({path for path in logged if not path.startswith(tuple(wanted))})
    return f"it has logged connections over {', '.join(others)}" if others else ""


def outcomes(results, pairings, where=""):
    """What report.keep is given."""
    style = {kind: style for style, kinds in STYLES.items() for kind in kinds}
    for result in results:
        job = result.job
        yield f"gRPC {style[job.kind]}{where}, {job.security}", job.pairing, over(pairings[job.pairing]), result.failure


def over(pairing):
    return pairing.client_says.split(":")[0]


def print_tables(results, scene):
    """Kinds of calls and of servers down, pairings across."""
    failures = {result.job: result.failure for result in results}
    for security in SECURITIES:
        rows = []
        for kind in scene.kinds:
            for api in APIS:
                jobs = [Job(pairing, kind, api, security) for pairing in scene.pairings]
                cells = ["FAIL" if failures[job] else f"{scene.calls} over {over(scene.pairings[job.pairing])}" for job in jobs]
                rows.append((f"{kind} at {api}", cells))
        report.print_table(f"calls, {security}", scene.pairings, rows)


def run(scene):
    """All on this host: results of the clients, and of the servers."""
    servers = start_servers(scene)
    try:
        addresses = {server.name: server.address() for server in servers}
        called = list(call(scene, addresses, scene.results / "cert.pem"))
        return called, [server.stop() for server in servers]
    finally:
        for server in servers:
            server.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/dev", help="build folder (%(default)s)")
    parser.add_argument("--calls", type=int, default=Scene.calls, help="of each kind to each server (%(default)s)")
    parser.add_argument("--other", type=pathlib.Path, help="another build's folder, as --other_root has it")
    parser.add_argument("--other_root", type=pathlib.Path, default=pathlib.Path("/"), help="in whose root it runs (%(default)s)")
    arguments = parser.parse_args()
    results = arguments.build / "interop/grpc/styles"
    results.mkdir(parents=True, exist_ok=True)
    pairings = pairings_over("shm") | (pairings_with_others("shm") if arguments.other else {})
    scene = Scene(arguments.build, results, pairings=pairings, calls=arguments.calls, other=arguments.other,
                  other_root=arguments.other_root)  # fmt: skip
    called, ended = run(scene)
    print_tables(called, scene)
    report.keep(results.parent / "styles.json", outcomes(called, scene.pairings))
    report.print_failures(called + ended)
    return report.close(called + ended)


if __name__ == "__main__":
    sys.exit(main())
