"""interop.py BUILD [--service]: both ends of interop.sh. First gRPC's own cases, where every process requires Skein: what is passed was not
passed over TCP. Then calls in every style, where one end may be stock (interop/grpc/styles.py)."""

import collections
import concurrent.futures
import dataclasses
import json
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "interop/grpc"), str(ROOT / "tests")]

import paths  # noqa: E402
import peers  # noqa: E402
import skeind  # noqa: E402
import styles  # noqa: E402
from cases import CASES, SOAK  # noqa: E402
from skeintest import guests, loads, report  # noqa: E402

PORTS = {"insecure": 50061, "tls": 50062}
# As much as an emulated processor does in a while.
FEWER = {"rpc_soak": ("--soak_iterations=100", *SOAK), "channel_soak": ("--soak_iterations=20", *SOAK)}
SLOWER = 4

Address = collections.namedtuple("Address", "port tls")
Result = collections.namedtuple("Result", "fault seconds")


def programs_of(build):
    settings = {**guests.SETTINGS, **loads.PATHS["rdma"], "SKEIN_GRPC": "require"}
    return peers.Programs(build, ROOT / "build/grpc-source", guests.PEER, settings.items())


def scene_of(build):
    """Who calls whom in every style; of streams only those that go both ways at once."""
    pairings = {name: pairing for name, pairing in styles.pairings_over("rdma").items() if "skein" in pairing[:2]}
    host = guests.ADDRESS if guests.ROLE == "server" else guests.PEER
    return styles.Scene(build, guests.RESULTS, "rdma", pairings, ("blocking", "queued", "callback", "chat"), calls=3, host=host,
                        flags=("--most_bytes=65536",), settings=guests.SETTINGS)  # fmt: skip


def serve(programs):
    servers = {}
    for security, port in PORTS.items():
        log = guests.RESULTS / f"server-{security}.log"
        servers[security] = peers.Server(programs, port, True, security == "tls", log)
    for server in servers.values():
        server.wait_until_ready()
    guests.tell("serving")
    guests.wait_for("done", 1500)
    faults = {security: server.stop_fault(peers.STOP_TIMEOUT) or paths.fault(server.log(), "server", True, "rdma")
              for security, server in servers.items()}  # fmt: skip
    return verdict(faults)


def serve_styles(scene):
    servers = styles.start_servers(scene)
    (guests.RESULTS / "addresses.json").write_text(json.dumps({server.name: server.address() for server in servers}))
    guests.tell("serving styles")
    guests.wait_for("done with styles", 600)
    return verdict({server.title(): server.stop().failure for server in servers})


def call_in_styles(scene):
    """Results of all clients."""
    guests.wait_for("serving styles", 300)
    addresses = json.loads((guests.RESULTS / "addresses.json").read_text())
    try:
        return list(styles.call(scene, addresses, guests.RESULTS / "cert.pem"))
    finally:
        guests.tell("done with styles")


def call(programs, scene):
    guests.wait_for("serving")
    jobs = [(scaled(case), security) for case in CASES for security in PORTS]
    try:
        # Those that only sleep do so beside the others.
        with concurrent.futures.ThreadPoolExecutor(len(jobs)) as sleepers, \
                concurrent.futures.ThreadPoolExecutor(1) as worker:
            running = {job: (sleepers if job[0].sleeps else worker).submit(run, programs, *job) for job in jobs}
            results = {(case.name, security): future.result() for (case, security), future in running.items()}
    finally:
        guests.tell("done")
    for case in CASES:
        cells = ["FAIL" if results[case.name, s].fault else f"{results[case.name, s].seconds:.1f} s" for s in PORTS]
        print(f"{case.name:30}" + "".join(f"{cell:>12}" for cell in cells))
    called = call_in_styles(scene)
    styles.print_tables(called, scene)
    outcomes = [(f"gRPC between hosts, {s}", "skein/skein", "rdma", results[c.name, s].fault) for s in PORTS for c in CASES]
    report.keep(guests.RESULTS / "matrix.json", [*outcomes, *styles.outcomes(called, scene.pairings, ", hosts")])
    guests.await_server()
    report.print_failures(called)
    faults = {" ".join(name): result.fault for name, result in results.items()}
    return verdict({**faults, **{result.job.title(): result.failure for result in called}})


def scaled(case):
    return dataclasses.replace(case, timeout=case.timeout * SLOWER, flags=FEWER.get(case.name, case.flags))


def run(programs, case, security):
    start = time.monotonic()
    address = Address(PORTS[security], security == "tls")
    log_path = guests.RESULTS / f"{case.name} {security}.log"
    fault, log = peers.run_client(programs, "cc", case, address, True, log_path)
    if not fault and not (case.may_never_connect and not paths.paths_in(log)):
        fault = paths.fault(log, "client", True, "rdma")
    return Result(fault, time.monotonic() - start)


def verdict(faults):
    failed = {name: fault for name, fault in faults.items() if fault}
    for name, fault in failed.items():
        print(f"FAILED {name}: {fault}")
    print(f"{len(faults) - len(failed)} passed, {len(failed)} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    build = pathlib.Path(sys.argv[1])
    if "--service" in sys.argv[2:]:
        skeind.give_rdma(build)
    chosen, chosen_scene = programs_of(build), scene_of(build)
    if guests.ROLE == "server":
        sys.exit(serve(chosen) | serve_styles(chosen_scene))
    sys.exit(call(chosen, chosen_scene))
