"""core.py --build DIR [--before DIR] [--quick] [--out FILE] [--seed N]: calls of core/rpc, and many streams of
core/stream, between two processes over shared memory.

How long is a round trip of 64 bytes when both ends spin, what does coalescing give when several threads have several
calls under way, and what do 10,000 streams cost? The cases of a round run one after the other in shuffled order, and
every ratio is taken within its round. With --before, an earlier build does the same in the same rounds, and ratios are
to that."""

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

# name: (program, flags, the case that ratios are to)
RATE = ("--measure=rate", "--mode=hybrid", "--threads=4", "--window=8")
CASES = {
    "latency": ("bench_rpc", ("--measure=latency",), "latency"),
    "rate, each message by itself": ("bench_rpc", (*RATE, "--coalesce=false"), "rate, each message by itself"),
    "rate, coalesced": ("bench_rpc", RATE, "rate, each message by itself"),
    "streams": ("bench_streams", (), "streams"),
}


def parse_arguments():
    before = ("--before", {"type": pathlib.Path, "help": "the build directory of an earlier commit, to compare with"})
    options = arguments.parse(__doc__, "bench_core.json", more=[before])
    options.rounds = 2 if options.quick else 7
    options.duration = "50ms" if options.quick else "1s"
    options.count = 1000 if options.quick else 100000
    options.streams = 1000 if options.quick else 10000
    return options


def cases_of(options):
    """All cases, by name: (build directory, program, flags, the case that ratios are to)."""
    builds = {"before: ": options.before, "": options.build} if options.before else {"": options.build}
    return {
        prefix + case: (build, program, flags, f"before: {case}" if options.before else base)
        for prefix, build in builds.items()
        for case, (program, flags, base) in CASES.items()
    }


def run(options, build, program, flags):
    common = {
        "bench_rpc": (f"--duration={options.duration}", f"--count={options.count}"),
        "bench_streams": (f"--streams={options.streams}",),
    }
    command = [build / "bench/micro" / program, *common[program], *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))}: {done.stderr}")
    figures = json.loads(done.stdout)
    return {key: value for key, value in figures.items() if key.endswith(("_us", "_per_s", "_bytes", "links"))}


def main():
    options = parse_arguments()
    cases = cases_of(options)
    series = shuffled.rounds(options, cases, lambda case: run(options, *cases[case][:3]))
    results = {
        **machine.heading(options, "seed", "rounds", "duration", "count", "streams", "quick"),
        "load": os.getloadavg()[1],
        "cases": {
            case: {
                figure: statistics_of.with_ratio(
                    [round_[figure] for round_ in rounds], [round_[figure] for round_ in series[cases[case][3]]]
                )
                for figure in rounds[0]
            }
            for case, rounds in series.items()
        },
    }
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    for case, figures in results["cases"].items():
        for figure, summary in figures.items():
            print(f"{case}: {figure} {summary['median']:,.3f}, x{summary['ratio']['median']:.2f}")
    print(f"written: {options.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
