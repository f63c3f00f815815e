"""./run bench apps: the examples of the rpc library (a cache, a parameter server, an ordered index, transactions) over
Skein's shared memory, and the same programs over TCP and a UNIX socket.

How long does a step of an application take, at the median and at p99? All paths of a load follow each other in every
round, in random order, and every ratio is to TCP in the same round. --docs also writes the tables of applications.md."""

import re

from harness import paired, program, statistics_of, table
from harness.page import Page

PATHS = {"tcp": "TCP", "unix": "UNIX socket", "skein-block": "Skein, mode block", "skein": "Skein"}
SIZES = ((8, "8 B"), (1 << 10, "1 KiB"), (16 << 10, "16 KiB"))
CALLERS = ((1, 1), (4, 1), (16, 1), (16, 8))
COROUTINES = ((1, 1), (1, 19), (4, 19))
SIZED = ("index", "transactions")  # larger than a quick run fills
# name: what bench_apps is called with
LOADS = {
    **{f"cache, {what}, {size}": ("cache", what, f"--size={bytes_}") for what in ("get", "set") for bytes_, size in SIZES},
    **{
        f"parameters, {what}, {pairs:,} pairs": ("parameters", what, f"--size={pairs}")
        for what in ("pull", "push")
        for pairs in (100, 1000, 10000)
    },
    "parameters, pull, 1,000 pairs, 4 workers, 4 servers": ("parameters", "pull", "--size=1000", "--threads=4", "--servers=4"),
    **{
        f"index, {threads} x {window}": ("index", "mix", "--size=1000000", f"--threads={threads}", f"--window={window}")
        for threads, window in CALLERS
    },
    **{
        f"{mix}, {threads} x {window}": ("transactions", mix, "--size=100000", "--servers=3", f"--threads={threads}", f"--window={window}")
        for mix in ("tatp", "smallbank")
        for threads, window in COROUTINES
    },
}  # fmt: skip


def run(options, load):
    """{path: its figures}."""
    small = options.quick and LOADS[load][0] in SIZED
    words = [re.sub("size=.*", "size=1000", word) if small else word for word in LOADS[load]]
    command = [options.build / "bench/apps/bench_apps", *words, f"--seconds={options.duration}"]
    return paired.by_turns(options, PATHS, lambda path: program.figures([*command, f"--path={path}"]))


def rows_of(rounds):
    """(what, figure) of a load, by its first round."""
    for what, figures in rounds[0]["tcp"].items():
        for figure in figures if isinstance(figures, dict) else ("",):
            yield what, figure


def figure_of(figures, what, figure):
    return figures[what][figure] if figure else figures[what]


def summaries(series):
    """{load: {what: {figure: {path: summary}}}}"""
    cases = {}
    for load, rounds in series.items():
        for what, figure in rows_of(rounds):
            values = {path: [figure_of(each[path], what, figure) for each in rounds] for path in PATHS}
            of_paths = {path: statistics_of.with_ratio(values[path], values["tcp"]) for path in PATHS}
            cases.setdefault(load, {}).setdefault(what, {})[figure or "rate"] = of_paths
    return cases


def cell(summary, path):
    told = {key: value for key, value in summary.items() if key != "ratio" or path != "tcp"}
    return table.cell(told, "{:,.0f}" if summary["median"] >= 1000 else "{:.1f}", "first_quartile", "third_quartile")


def markdown(results):
    tables = []
    for figure, title in (("p50_us", "Median, us"), ("p99_us", "p99, us"), ("rate", "Steps a second")):
        lines = [
            [load if what in load or figure == "rate" else f"{load}, {what}", *(cell(of[figure][path], path) for path in PATHS)]
            for load, whats in results["cases"].items()
            for what, of in whats.items()
            if figure in of and (figure != "rate" or LOADS[load][0] in SIZED)
        ]
        tables.append("\n".join(table.rows([title, *PATHS.values()], lines)))
    return "\n\n".join([paired.about(results), *tables])


PAGE = Page("applications.md", "<!-- figures: written by bench/apps/apps.py --docs, do not edit -->", markdown)

if __name__ == "__main__":
    options = paired.parse(__doc__, "apps", rounds=(1, 9), duration=("0.02", "0.3"), page=PAGE.name)
    paired.tell(options, LOADS, lambda load: run(options, load), summaries, markdown, PAGE)
