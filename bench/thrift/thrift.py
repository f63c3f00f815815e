"""thrift.py --build DIR [--quick] [--out FILE] [--seed N]: one Thrift service over TCP, a UNIX socket and Skein.

What does a small call take with one caller, with as many as a busy service has, and with more; what a large one; and
what does a connection cost that nobody uses? Each figure is of processes of its own; the cases of a round run one after
the other in shuffled order, and every ratio, to TCP and to the UNIX socket, is taken within its round."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "macro"))
import arguments  # noqa: E402
import machine  # noqa: E402
import shuffled  # noqa: E402
import statistics_of  # noqa: E402

WAYS = {
    "tcp": ("--transport=tcp",),
    "unix": ("--transport=unix",),
    "skein": ("--transport=skein", "--wait_mode=hybrid"),
    "skein block": ("--transport=skein", "--wait_mode=block"),
}


@dataclasses.dataclass(frozen=True)
class Load:
    """What callers do, and which of its figures say something."""

    name: str
    flags: tuple
    figures: tuple
    ways: tuple = ("tcp", "unix", "skein")
    idle: bool = False


SMALL = ("p50_us", "p99_us", "calls_per_s", "client_cpu_us")
LARGE = ("p50_us", "p99_us", "mb_per_s", "client_cpu_us")
LOADS = (
    Load("64 B, 1 thread", ("--bytes=64", "--threads=1"), SMALL, tuple(WAYS)),
    Load("64 B, 8 threads", ("--bytes=64", "--threads=8"), SMALL),
    Load("64 B, 64 threads", ("--bytes=64", "--threads=64"), SMALL),
    Load("64 B, 1 thread, nonblocking server", ("--bytes=64", "--threads=1", "--nonblocking"), SMALL),
    Load("64 B, 8 threads, nonblocking server", ("--bytes=64", "--threads=8", "--nonblocking"), SMALL),
    Load("1 MiB, 1 thread", ("--bytes=1048576", "--threads=1"), LARGE),
    Load("idle", ("--idle",), ("server_cpu_ms", "client_cpu_ms"), ("tcp", "skein"), idle=True),
)
CASES = {f"{load.name}, {way}": (load, way) for load in LOADS for way in load.ways}


def parse_arguments():
    options = arguments.parse(__doc__, "bench_thrift.json")
    options.rounds = 2 if options.quick else 7
    options.duration = "50ms" if options.quick else "1s"
    options.idle_duration = "200ms" if options.quick else "3s"
    return options


def run(options, load, way):
    duration = options.idle_duration if load.idle else options.duration
    command = [options.build / "bench/thrift/bench_thrift", f"--duration={duration}", *load.flags, *WAYS[way]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))}: {done.stderr}")
    figures = json.loads(done.stdout)
    return {figure: figures[figure] for figure in load.figures}


def summaries(series):
    """{case: [{figure: value}]}, one per round, as {case: {figure: summary with its ratios}}."""

    def summary(load, figure, rounds):
        values = [round_[figure] for round_ in rounds]
        if load.idle:  # which may take next to no processor time: a ratio to that would say nothing
            return statistics_of.summary(values)
        tcp, unix = ([round_[figure] for round_ in series[f"{load.name}, {way}"]] for way in ("tcp", "unix"))
        to_unix = statistics_of.with_ratio(values, unix)["ratio"]
        return {**statistics_of.with_ratio(values, tcp), "ratio_to_unix": to_unix}

    return {
        case: {figure: summary(CASES[case][0], figure, rounds) for figure in rounds[0]}
        for case, rounds in series.items()
    }


def table(cases):
    def number(value):
        return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"

    def ratio_cell(ratio):
        return f"x{ratio['median']:.2f} ({ratio['min']:.2f}..{ratio['max']:.2f})" if ratio else "-"

    yield "| case | figure | median | to TCP | to the UNIX socket |"
    yield "| --- | --- | --- | --- | --- |"
    for case, figures in cases.items():
        for figure, told in figures.items():
            ratios = [ratio_cell(told.get(key)) for key in ("ratio", "ratio_to_unix")]
            median = f"**{number(told['median'])}** ({number(told['min'])}..{number(told['max'])})"
            yield f"| {case} | {figure} | {median} | {' | '.join(ratios)} |"


def main():
    options = parse_arguments()
    series = shuffled.rounds(options, CASES, lambda case: run(options, *CASES[case]))
    results = {
        **machine.heading(options, "seed", "rounds", "duration", "idle_duration", "quick"),
        "load": os.getloadavg()[1],
        "cases": summaries(series),
    }
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    print("\n".join(table(results["cases"])))
    print(f"written: {options.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
