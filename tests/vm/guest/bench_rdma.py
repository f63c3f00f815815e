"""bench_rdma.py BUILD ROUNDS SEED rdma|service GID: both ends of the figures of Soft-RoCE: beside other people's, or through
each guest's skeind beside without. The client guest measures; the server guest
starts what it is asked for. Leaves $VM_RESULTS/results.json: of each round {"TOOL MEASURE BYTES": {figure: value}}."""

import json
import math
import os
import pathlib
import random
import subprocess
import sys
import time

from plan import RSOCKETS_LIBRARY
from skeintest import guests

PORTS = {"bench_fabric": 7000, "rsockets": 7001, "perftest": 7002, "crowd": 7100}
CROWDS = (1, 8)  # processes at each end; 32 that spin are more than two emulated processors can do, direct as well
CROWD_BYTES, CROWD_COUNT = 4096, 256  # of a message; messages of each
LIMIT = 90  # seconds for one measurement
# Acknowledgements are awaited for 1 s: an emulated processor that has to share the real one takes its time. (Where rxe
# sends parts of a message again, the other end may take them for an invalid request.)
TIMEOUT = "18"
ATTEMPTS = 4

# What is compared with each other: (measure, bytes, count, tools). As many messages as take a second or two.
WRITES = ("perftest", "write")
STREAMS = ("tcp", "rsockets", "stream")
THROUGH_SKEIND = ("stream", "service")
BESIDE_OTHERS = (
    ("latency", 64, 300, WRITES),
    ("latency", 4096, 200, WRITES),
    ("latency", 65536, 30, WRITES),
    ("bandwidth", 4096, 1000, WRITES),
    ("bandwidth", 65536, 64, WRITES),
    ("bandwidth", 1 << 20, 5, WRITES),
    ("latency", 64, 300, STREAMS),
    ("latency", 4096, 200, STREAMS),
    ("bandwidth", 65536, 64, STREAMS),
)
COMPARED = {
    "rdma": BESIDE_OTHERS,
    "service": tuple((*what, THROUGH_SKEIND) for what in (
        ("latency", 64, 300), ("latency", 4096, 200), ("latency", 65536, 30), ("bandwidth", 4096, 1000), ("bandwidth", 65536, 64),
        *(("crowd", processes, CROWD_COUNT) for processes in CROWDS))),
}  # fmt: skip


def environment(preload):
    return {**os.environ, "SKEIN_RDMA_TIMEOUT": TIMEOUT, **({"LD_PRELOAD": RSOCKETS_LIBRARY} if preload else {})}


class Tools:
    """What is started in a guest, alike at both ends."""

    def __init__(self, build, gid):
        self._fabric = build / "bench/micro/bench_fabric"
        self._gid = gid

    def perftest(self, measure, size, count):
        program = {"latency": "ib_write_lat", "bandwidth": "ib_write_bw"}[measure]
        # -u: as SKEIN_RDMA_TIMEOUT. -Q 1: every WRITE completes by itself, and -t so many are under way, as in ours.
        flood = ["-t", "128", "-Q", "1"] if measure == "bandwidth" else []
        options = ["-s", str(size), "-n", str(count), "-u", TIMEOUT, "-F", *flood]
        return [program, "-d", "rxe0", "-x", self._gid, "-p", str(PORTS["perftest"]), *options]

    def fabric(self, *options):
        return [str(self._fabric), *options]


class Server:
    def __init__(self, tools, compared):
        self._tools = tools
        self._servers = [self._serve("bench_fabric"), self._serve("rsockets")]
        if compared == "service":
            self._servers += [self._serve("crowd", number) for number in range(max(CROWDS))]
        self._perftest = None

    def _serve(self, name, number=0):
        process = subprocess.Popen(
            self._tools.fabric(f"--listen={guests.ADDRESS}:{PORTS[name] + number}"),
            stdout=subprocess.PIPE, text=True, env=environment(name == "rsockets"),
        )  # fmt: skip
        if not process.stdout.readline().startswith("listening on "):
            raise RuntimeError(f"the server of {name} did not start")
        return process

    def answer(self, question):
        """Of perftest, each measurement has a server of its own. One whose client has failed might wait for ever."""
        if self._perftest is not None:
            try:
                self._perftest.wait(10)
            except subprocess.TimeoutExpired:
                self._perftest.kill()
                self._perftest.wait()
        measure, size, count = question.split()
        self._perftest = subprocess.Popen(self._tools.perftest(measure, size, count), stdout=subprocess.DEVNULL)
        guests.wait_until(self._listens, 30, "perftest's server")

    @staticmethod
    def _listens():
        command = ["ss", "-Hltn", f"sport = :{PORTS['perftest']}"]
        return subprocess.run(command, capture_output=True, check=True).stdout != b""


def on_device():
    """What this guest's rxe0 has of its users."""
    regions = json.loads(guests.shell("rdma -j resource show mr"))
    return {"queue_pairs": guests.rdma_objects()["qp"], "registered_mib": sum(region["mrlen"] for region in regions) / (1 << 20)}


class Failed(Exception):
    """A measurement came to no end, or to none of the figures that it is for."""


class Client:
    def __init__(self, tools):
        self._tools = tools
        self._questions = 0

    def measure(self, tool, measure, size, count):
        """Figures, and how often it had to be tried again."""
        for failures in range(ATTEMPTS):
            try:
                figures = self._measure(tool, measure, size, count)
                # perftest calibrates its clock at its start, which may go wrong where processors are emulated.
                if not all(0 < value < math.inf for value in figures.values()):
                    raise Failed(f"it says {figures}")
                return {**figures, "failures": failures}
            except Failed as failed:
                print(f"{tool} {measure} {size} failed: {failed}", flush=True)
        raise Failed(f"{tool} {measure} {size} failed {ATTEMPTS} times")

    def _crowd(self, tool, processes, count):
        """So many processes at each end send at once: their rate together, and what the device of this guest has meanwhile."""
        started = [
            subprocess.Popen(self._command(tool, PORTS["crowd"] + number, "bandwidth", CROWD_BYTES, count),
                             stdout=subprocess.PIPE, text=True, env=environment(False))
            for number in range(processes)
        ]  # fmt: skip
        held, end = {}, time.monotonic() + LIMIT
        while any(process.poll() is None for process in started):
            for what, much in on_device().items():
                held[what] = max(held.get(what, 0), much)
            if time.monotonic() > end:
                for process in started:
                    process.kill()
                raise Failed(f"{processes} processes: not done after {LIMIT} s")
            time.sleep(0.05)
        told = [json.loads(process.communicate()[0] or "{}") for process in started]
        for one in told:
            self._check_path(tool, one)
        return {"mb_per_s": sum(one["mb_per_s"] for one in told), **held}

    def _command(self, tool, port, measure, size, count):
        over = {"rsockets": "tcp", "service": "stream"}.get(tool, tool)
        fabric = "skeind" if tool == "service" else "rdma"
        return self._tools.fabric(
            f"--target={guests.PEER}:{port}", f"--over={over}", f"--fabric={fabric}", f"--measure={measure}",
            f"--bytes={size}", f"--count={count}",
        )  # fmt: skip

    def _measure(self, tool, measure, size, count):
        if tool == "perftest":
            return self._perftest(measure, size, count)
        if measure == "crowd":
            return self._crowd(tool, size, count)
        command = self._command(tool, PORTS["rsockets" if tool == "rsockets" else "bench_fabric"], measure, size, count)
        told = json.loads(self._output(command, tool == "rsockets"))
        self._check_path(tool, told)
        return {figure: told[figure] for figure in ("p50_us", "p99_us", "mb_per_s") if figure in told}

    @staticmethod
    def _check_path(tool, told):
        path = {"tcp": "tcp", "rsockets": "preloaded sockets", "service": "rdma via skeind:rxe0/1"}.get(tool, "rdma:rxe0/1")
        if told.get("path") != path:
            raise Failed(f"{tool} was measured over {told.get('path')}")

    def _perftest(self, measure, size, count):
        guests.ask(self._questions, f"{measure} {size} {count}")
        self._questions += 1
        output = self._output([*self._tools.perftest(measure, size, count), guests.PEER], False)
        lines = [words for words in map(str.split, output.splitlines()) if words[:2] == [str(size), str(count)]]
        if len(lines) != 1:
            raise Failed(f"perftest said no figures:\n{output}")
        line = lines[0]
        if measure == "latency":  # bytes, iterations, least, most, typical (the median), average, deviation, 99%, 99.9%
            return {"p50_us": float(line[4]), "p99_us": float(line[7])}
        return {"mb_per_s": float(line[3]) * (1 << 20) / 1e6}  # bytes, iterations, peak, average, rate

    @staticmethod
    def _output(command, preload):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, env=environment(preload))
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{' '.join(command)}: not done after {LIMIT} s") from late
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout


def measure_round(client, compared, rng):
    """Those that are compared run one after the other, in shuffled order."""
    found = {}
    for measure, size, count, tools in compared:
        for tool in rng.sample(tools, len(tools)):
            name = f"{tool} {measure} {size}"
            found[name] = client.measure(tool, measure, size, count)
            print(f"{name}: {found[name]}", flush=True)
    return found


def main():
    build, count, seed, compared, gid = sys.argv[1:]
    tools = Tools(pathlib.Path(build), gid)
    if guests.ROLE == "server":
        server = Server(tools, compared)
        guests.tell("serving")
        guests.answer_questions(server.answer, 3600)
        return
    guests.wait_for("serving")
    client, rng, rounds = Client(tools), random.Random(int(seed)), []
    for number in range(int(count)):
        print(f"round {number + 1} of {count}", flush=True)
        rounds.append(measure_round(client, COMPARED[compared], rng))
    (guests.RESULTS / "results.json").write_text(json.dumps(rounds))
    guests.tell("done")


if __name__ == "__main__":
    main()
