"""thrift.py BUILD [--service]: both ends of thrift.sh. What a connection ran over is not asked of Skein but of the device, which counts
its packets."""

import dataclasses
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "interop/thrift"), str(ROOT / "tests")]

import cases  # noqa: E402
import peers  # noqa: E402
import run_thrift  # noqa: E402
import skeind  # noqa: E402
from skeintest import guests, loads, report  # noqa: E402

# Every kind of server and of layer, and the protocols that others are made of: as much as an emulated processor does in a
# while.
CHOSEN = {
    "simple buffered binary",
    "simple zlib json",
    "thread-pool buffered compact",
    "thread-pool http binary",
    "threaded buffered json",
    "threaded framed compact",
    "nonblocking framed binary",
    "nonblocking framed multij",
}
SLOWER = 4

# A case makes 83 calls, one after the other: one packet there and one back at least, for each.
LEAST_PACKETS = 83


class Server:
    """The server of the case that is being run, in the server guest."""

    def __init__(self, programs):
        self._programs = programs
        self._running = None

    def answer(self, question):
        if question == "stop":
            return self._running.stop_fault(peers.STOP_TIMEOUT)
        stem, mode, *case = question.split()
        mode = None if mode == "stock" else mode
        log_path = guests.RESULTS / f"{stem}-server.log"
        self._running, port = peers.start_server(self._programs, cases.Cross(*case), mode, log_path)
        return str(port)


class Client:
    def __init__(self, programs):
        self._programs = programs
        self._questions = 0

    def _on_server(self, question):
        self._questions += 1
        return guests.ask(self._questions - 1, question)

    def run(self, job):
        client_mode, server_mode = job.modes
        log_path = guests.RESULTS / f"{job.stem()}.log"
        start, before = time.monotonic(), guests.packets()
        port = self._on_server(f"{job.stem()} {server_mode or 'stock'} {job.case.name}")
        ended = peers.run_client(self._programs, job.case, client_mode, guests.PEER, port, log_path)
        server_fault = self._on_server("stop")
        failure = job.fault(job.case, *ended) or server_fault or path_fault(job, before, guests.packets())
        return report.Result(job, failure, time.monotonic() - start, log_path)


def path_fault(job, before, after):
    sent, received = (now - then for now, then in zip(after, before))
    carried = f"rxe0 sent {sent} packets and received {received}"
    if job.column == "skein/skein":
        return "" if min(sent, received) >= LEAST_PACKETS else f"not over RDMA: {carried}"
    return "" if sent == received == 0 else f"RDMA with a stock program: {carried}"


def jobs():
    chosen = [job for job in run_thrift.jobs_of(cases.PAIRINGS) if job.table == "cross" and job.case.name in CHOSEN]
    assert {job.case.name for job in chosen} == CHOSEN, "a case that does not exist is among the chosen"
    return [dataclasses.replace(job, case=dataclasses.replace(job.case, timeout=job.case.timeout * SLOWER)) for job in chosen]


def call(programs):
    guests.wait_for("serving")
    client = Client(programs)
    try:
        results = [client.run(job) for job in jobs()]
    finally:
        guests.tell("done")
    run_thrift.print_tables(results)
    report.keep(guests.RESULTS / "matrix.json", run_thrift.outcomes(results, "rdma", "Thrift, between hosts"))
    report.print_failures(results)
    return report.close(results)


def serve(programs):
    guests.tell("serving")
    guests.answer_questions(Server(programs).answer, 900)
    return 0


if __name__ == "__main__":
    build = pathlib.Path(sys.argv[1])
    if "--service" in sys.argv[2:]:
        skeind.give_rdma(build)
    chosen_programs = peers.Programs(build, {**guests.SETTINGS, **loads.PATHS["rdma"]})
    sys.exit(serve(chosen_programs) if guests.ROLE == "server" else call(chosen_programs))
