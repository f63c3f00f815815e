"""durable_shm.py --build DIR [--quick] [--out FILE] [--seed N] [--docs DIR]: durable requests over shared memory, in real time.

Question: what do the protocols of bench durable cost in processors' time, both ends together, when neither wire nor
persistent memory takes any? The cases of a round run one after the other in shuffled order, and every ratio is to FaRM's exchange in
the same round and setting. --docs writes the table into DIR/durable-performance.md."""

import pathlib
import sys

import durable_claims as paper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "macro"))
import paired_report  # noqa: E402
import statistics_of  # noqa: E402

BEGIN = "<!-- figures over shared memory: written by bench/durable/durable_shm.py --docs, do not edit -->"

BASE = "FaRM"
EXCHANGES = (*paper.DURABLE, BASE, "L5", "Octopus", "DaRPC", paper.PLAIN)
# (object's bytes, heavy): a column each.
SETTINGS = {"1 KiB, light": (1024, False), "64 KiB, light": (65536, False), "1 KiB, heavy": (1024, True)}
FIGURES = ("kops", "write_p50_us", "write_p99_us", "read_p50_us", "read_p99_us")


def run(options, exchange, setting):
    object_bytes, heavy = SETTINGS[setting]
    command = [options.build / "bench/durable/bench_durable_shm", f"--exchange={exchange}", f"--object_bytes={object_bytes}",
               f"--heavy={str(heavy).lower()}", f"--duration={options.duration}"]  # fmt: skip
    return paired_report.figures_of(command)


def summaries(series):
    """{'exchange, setting': {figure: summary with its ratio to BASE}} of {(exchange, setting): rounds}."""
    return {
        f"{exchange}, {setting}": {
            figure: statistics_of.with_ratio(
                [round_[figure] for round_ in rounds], [round_[figure] for round_ in series[BASE, setting]]
            )
            for figure in FIGURES
        }
        for (exchange, setting), rounds in series.items()
    }


def cell(case):
    kops, write = case["kops"], case["write_p50_us"]
    spread = f"{kops['min']:,.1f}..{kops['max']:,.1f}"
    return f"**{kops['median']:,.1f}** ({spread}), x{kops['ratio']['median']:.2f}; {write['median']:,.1f}"


def markdown(results):
    lines = [[exchange, *(cell(results["cases"][f"{exchange}, {setting}"]) for setting in SETTINGS)] for exchange in EXCHANGES]
    return paired_report.text(results, ["", *SETTINGS], lines)


def main():
    options = paired_report.parse(__doc__, "durable_shm.json", quick="20ms", full="300ms")
    cases = [(exchange, setting) for setting in SETTINGS for exchange in EXCHANGES]
    paired_report.make(options, cases, lambda case: run(options, *case), summaries, markdown, "durable-performance.md", BEGIN)


if __name__ == "__main__":
    main()
