"""soak.py --build DIR [--minutes N] [--fault_every SECONDS] [--path NAME] [--out DIR] [--seed N]: gRPC and Thrift at once, for long.

Of each framework a server and a client that stay, and a server and a client that are killed and stopped by turns, one every
so many seconds. The client that stays calls both servers, both clients call the server that stays: calls of every kind and
size, in a hurry and not, over connections that come and go. Every byte is checked. Of what stays, memory, descriptors,
mappings and the latency of calls are sampled, drawn, and judged:

  - no wrong byte; calls between what stays succeed (but one in a thousand, if the machine stood still for half a second),
    some of them between any two samples; no call, ended or not, is later than two seconds behind its deadline (and what the
    machine stood still for), but those of a client while it is stopped;
  - descriptors and mappings end where they were; memory does not grow: a line through its samples, after the first quarter,
    rises less than 5 % over the run (and 4 MiB). That of resident memory, and that of what malloc has given out: where only
    the first grows, it is the holes between.

The latency's drift is told, not judged: machines are shared. In less than five minutes nothing has settled: then bytes and
calls alone are judged."""

import argparse
import json
import pathlib
import random
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT / "bench"))

from harness import plots  # noqa: E402
from skeintest import kernel, loads  # noqa: E402
from skeintest.child import Silence  # noqa: E402

SAMPLE = 2  # seconds
SETTLED = 0.25  # of the run, before memory counts
LONG_ENOUGH = 5  # minutes
LATEST_MS = 2000  # behind a deadline
LONG_STANDSTILL_MS = 500  # of the machine
EXCUSED = 0.001  # of calls, that end badly for it
MOST_GROWTH = 0.05, 4096  # of it, KiB
FLAGS = ["--threads=2", "--calls_each=500"]


class Framework:
    """Its four processes, and what has become of their calls."""

    def __init__(self, options, name, chance):
        self.options, self.name, self.chance = options, name, chance
        self.between_staying, self.to_others, self.of_others = loads.Sum(), loads.Sum(), loads.Sum()
        self.staying_server, self.other_server = self.server(), self.server()
        self.address, self.other_address = self.staying_server.address(), self.other_server.address()
        self.staying_client = self.client(self.address, self.other_address)
        self.other_client = self.client(self.address)
        self.samples = []
        self.standstill = loads.Standstill()
        self.faults = 0

    def server(self, address=None):
        address = address or f"{self.options.host}:0"
        return loads.Server(self.options.build, self.name, self.options.path, address, settings=self.options.settings)

    def client(self, *addresses):
        flags = [*FLAGS, *self.options.flags]
        return loads.Client(self.options.build, self.name, self.options.path, addresses, flags, settings=self.options.settings)

    def fault(self):
        self.faults += 1
        self.chance.choice((self.kill_server, self.kill_client, self.stop, self.stop))()

    def kill_server(self):
        self.other_server.close()
        self.other_server = self.server(self.other_address)
        self.other_server.address()

    def kill_client(self):
        self.of_others.add(self.other_client.report()[0])
        self.other_client.close()
        self.other_client = self.client(self.address)

    def stop(self):
        with self.chance.choice((self.other_server, self.other_client)).stopped():
            time.sleep(self.chance.uniform(0.01, 3))

    def sample(self, minutes):
        staying, others = self.staying_client.report()
        succeeded = self.between_staying.add(staying)
        self.to_others.add(others)
        self.samples.append({
            "minutes": minutes, "calls": succeeded, "bytes": staying["bytes"] + others["bytes"],
            "p50_us": staying["p50_us"], "p99_us": staying["p99_us"],
            **{f"{role} {what}": value for role, program in self.staying() for what, value in held(program).items()},
        })  # fmt: skip

    def staying(self):
        return ("server", self.staying_server), ("client", self.staying_client)

    def end(self):
        """Orderly; clients first."""
        for report, whose in zip(self.staying_client.last_report(), (self.between_staying, self.to_others)):
            whose.add(report)
        self.of_others.add(self.other_client.last_report()[0])
        for server in (self.staying_server, self.other_server):
            if fault := server.end_fault():
                raise Silence(f"a {self.name} server: {fault}")

    def kill(self):
        for program in (self.staying_client, self.other_client, self.staying_server, self.other_server):
            program.close()

    def line(self, figure):
        return [(sample["minutes"], sample[figure]) for sample in self.samples]


def held(program):
    heap = program.heap()
    return {
        "memory": kernel.resident_bytes(program.pid) // 1024, "live": heap["live"], "free": heap["free"], **kernel.held(program.pid),
    }  # fmt: skip


def growth(points):
    """How much a line through the points, by least squares, rises from the first to the last."""
    times, values = zip(*points)
    if len(set(times)) < 2:
        return 0.0
    slope = statistics.linear_regression(times, values).slope
    return slope * (times[-1] - times[0])


def settled(points):
    return points[int(len(points) * SETTLED) :]


def problems_of(framework, minutes):
    return problems_of_calls(framework) + (problems_of_holdings(framework) if minutes >= LONG_ENOUGH else [])


def problems_of_calls(framework):
    problems = []
    calls = framework.between_staying
    strange = calls.other_than(loads.FINE)
    if strange and not excused(framework):
        problems.append(f"calls between what stays ended with {calls.reasons(strange)}")
    # The first comes while they connect.
    silent = [sample["minutes"] for sample in framework.samples[1:] if sample["calls"] == 0]
    if silent:
        problems.append(f"no call between what stays succeeded before the samples at minutes {silent}")
    for whose, what in ((framework.to_others, "calls to a server that is killed"),
                        (framework.of_others, "calls of a client that is killed")):  # fmt: skip
        others = whose.other_than(loads.FINE | loads.GONE[framework.name] | loads.SILENT[framework.name])
        if others:
            problems.append(f"{what} ended with {whose.reasons(others)}")
    for whose in (calls, framework.to_others):
        if whose.late_ms > LATEST_MS + framework.standstill.ms:
            problems.append(f"a call was {whose.late_ms:.0f} ms behind its deadline")
    for whose in (calls, framework.to_others, framework.of_others):
        if whose.wrong:
            problems.append(f"{whose.wrong} wrong answers: {whose.what}")
    return problems


def excused(framework):
    """Whether the machine itself is to blame for what has ended badly between what stays: it is few, and no wonder."""
    calls, may = framework.between_staying, loads.GONE[framework.name] | loads.SILENT[framework.name]
    few = sum(calls.other_than(loads.FINE).values()) < EXCUSED * sum(calls.statuses.values())
    return few and framework.standstill.ms > LONG_STANDSTILL_MS and not calls.other_than(loads.FINE | may)


def problems_of_holdings(framework):
    problems = []
    for role, _ in framework.staying():
        for what, name in (("memory", "resident memory"), ("live", "memory given out by malloc")):
            memory = settled(framework.line(f"{role} {what}"))
            part, least = MOST_GROWTH
            if growth(memory) > max(least, part * memory[0][1]):
                problems.append(f"the {role}'s {name} grew by {growth(memory):.0f} KiB")
        for what in ("descriptors", "mappings"):
            if rise := rise_of([value for _, value in settled(framework.line(f"{role} {what}"))]):
                problems.append(f"the {role}'s {what} rose {rise}")
    return problems


def rise_of(numbers):
    """From the first half to the second, in words, or ''. Connections come and go all the time: with them goes the usual number
    up and down; what is kept raises the least as well."""
    halves = numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]
    if not halves[0]:
        return ""
    usual, least = ([which(half) for half in halves] for which in (statistics.median, min))
    rises = all(after > before + 2 for before, after in (usual, least))
    return f"from {usual[0]:g} to {usual[1]:g}, and the least of them from {least[0]:g} to {least[1]:g}" if rises else ""


def drift(framework):
    """Of the 99th percentile, from the first half to the second."""
    values = [value for _, value in settled(framework.line("p99_us"))]
    half = len(values) // 2
    return statistics.median(values[half:]) / statistics.median(values[:half]) - 1 if half else 0.0


def row(framework):
    calls = sum(framework.between_staying.statuses.values())
    others = sum(sum(whose.statuses.values()) for whose in (framework.to_others, framework.of_others))
    checked = sum(sample["bytes"] for sample in framework.samples) / 1e9
    failed = framework.between_staying.other_than(loads.FINE)
    late = max(framework.between_staying.late_ms, framework.to_others.late_ms)
    return "; ".join([
        f"{framework.name:7} {calls:,} calls between what stays, {sum(failed.values())} of which failed, {others:,} others, "
        f"{checked:,.1f} GB checked",
        f"{framework.faults} faults",
        *(memory(framework, role) for role, _ in framework.staying()),
        f"latest {late:.0f} ms behind its deadline, the machine stood still for {framework.standstill.ms:.0f} ms",
        f"p99 {drift(framework):+.0%} from the first half to the second",
    ])  # fmt: skip


def memory(framework, role):
    """MiB at the end, and over the run, of what malloc has given out and of what is resident."""
    live, resident = (settled(framework.line(f"{role} {what}")) for what in ("live", "memory"))
    return (f"{role} {live[-1][1] / 1024:.1f} MiB, {growth(live) / 1024:+.1f} over the run, "
            f"resident {resident[-1][1] / 1024:.1f}, {growth(resident) / 1024:+.1f}")  # fmt: skip


def charts(frameworks):
    def lines(figure, scale=1):
        return {
            f"{f.name} {role}": [(x, y / scale) for x, y in f.line(f"{role} {figure}")]
            for f in frameworks for role, _ in f.staying()
        }  # fmt: skip

    latency = {
        f"{f.name} {figure}": [point for point in f.line(f"{figure}_us") if point[1] > 0]
        for f in frameworks for figure in ("p50", "p99")
    }  # fmt: skip
    return {
        "live": plots.chart("Memory that malloc has given out", "minutes", "MiB", lines("live", 1024), time=True),
        "memory": plots.chart("Resident memory", "minutes", "MiB", lines("memory", 1024), time=True),
        "descriptors": plots.chart("Open descriptors", "minutes", "", lines("descriptors"), time=True),
        "latency": plots.chart("Latency of calls", "minutes", "us", latency, log=True, time=True),
    }


def soak(options, frameworks):
    start = time.monotonic()
    chance = random.Random(options.seed)
    next_fault = start + options.fault_every
    while (now := time.monotonic()) < start + options.minutes * 60:
        if now >= next_fault:
            chance.choice(frameworks).fault()
            next_fault += options.fault_every
        time.sleep(SAMPLE)
        for framework in frameworks:
            framework.sample((time.monotonic() - start) / 60)


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--fault_every", type=float, default=10, help="seconds (%(default)s)")
    parser.add_argument("--path", choices=loads.PATHS, default="shm")
    parser.add_argument("--host", default="127.0.0.1", help="that servers listen on (%(default)s)")
    parser.add_argument("--flag", dest="flags", action="append", default=[], help="another one of the clients'")
    parser.add_argument("--out", type=pathlib.Path, help="folder for soak.json and the curves (default: soak, beside the build folder)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--check", action="store_true", help="look at these options, and do nothing")
    options = parser.parse_args(arguments)
    options.out = options.out or options.build.resolve().parent / "soak"
    options.settings = {}  # SKEIN_NAME: VALUE, of all programs
    return options


def run(options):
    """Whether all was as it should be."""
    print(f"{options.minutes:g} minutes over {options.path}, --seed={options.seed}", flush=True)
    frameworks = [Framework(options, name, random.Random(f"{options.seed} {name}")) for name in loads.FRAMEWORKS]
    try:
        soak(options, frameworks)
        for framework in frameworks:
            framework.end()
    finally:
        for framework in frameworks:
            framework.kill()
    options.out.mkdir(exist_ok=True)
    plots.draw({options.out / f"{name}.svg": chart for name, chart in charts(frameworks).items()})
    (options.out / "soak.json").write_text(json.dumps({f.name: f.samples for f in frameworks}) + "\n")
    problems = [f"{f.name}: {problem}" for f in frameworks for problem in problems_of(f, options.minutes)]
    for framework in frameworks:
        print(row(framework))
    print("\n".join(problems) if problems else "as it should be", flush=True)
    print(f"curves: {options.out}")
    return not problems


def main():
    options = parse_arguments()
    return 0 if options.check or run(options) else 1


if __name__ == "__main__":
    sys.exit(main())
