"""./run bench durable-store: SC'21's applications on real durable calls.

Question: what does it gain on this machine that a write is over when it is safe, beside waiting for its reply? YCSB and
PageRank on a Thrift service over shared memory, whose redo log lies in memory (tmpfs). The three ways of an application
follow each other in every round, in shuffled order; every ratio is to the calls that wait, in the same round. Each record
and each rank is checked. --docs writes the table into DIR/durable-apps.md."""

import tempfile

from harness import paired, program, statistics_of
from harness.page import Page

WAYS = ("plain", "waits", "early")
WORKS = {"light": "0", "heavy": "100us"}
GRAPHS = {"wordassociation-2011": "PageRank, wordassociation-2011", "enron": "PageRank, enron"}
APPLICATIONS = {**{one: f"YCSB {one}" for one in "ABCDEF"}, **GRAPHS}


def run(options, case):
    """{way: its figures}."""
    application, work = case
    name = "small" if options.quick and application in GRAPHS else application

    def one(way):
        command = [options.build / "bench/durable/bench_durable_store", "--skein", f"--application={name}", f"--way={way}",
                   f"--work={WORKS[work]}", f"--operations={options.duration}", f"--seed={options.seed % 1000}"]  # fmt: skip
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            return program.figures(command + ([] if way == "plain" else [f"--log={folder}/log"]))

    return paired.by_turns(options, WAYS, one)


def summaries(series):
    """{'application, load': {figure: {way: summary}}}."""
    cases = {}
    for (application, work), rounds in series.items():
        figures = [figure for figure in ("mean_us", "p50_us", "seconds") if figure in rounds[0]["plain"]]
        for figure in figures:
            values = {way: [each[way][figure] for each in rounds] for way in WAYS}
            of_ways = {way: statistics_of.with_ratio(values[way], values["waits"]) for way in WAYS}
            cases.setdefault(f"{APPLICATIONS[application]}, {work}", {})[figure] = of_ways
    return cases


def cell(figures, way):
    """'**40** (x0.50), 20 (x0.25)': the mean and the median, or ms of all; with the ratios to calls that wait."""
    parts = []
    for figure, of in figures.items():
        ratio = of[way]["ratio"]
        beside = "" if way == "waits" else f" (x{ratio['median']:.2f}, {ratio['first_quartile']:.2f}..{ratio['third_quartile']:.2f})"
        parts.append(f"**{of[way]['median'] * (1e3 if figure == 'seconds' else 1):,.0f}**{beside}")
    return "; ".join(parts)


def markdown(results):
    lines = [[name, *(cell(of, way) for way in WAYS)] for name, of in results["cases"].items()]
    head = ["YCSB: mean; median, us; PageRank: ms", "plain calls", "durable, waits", "durable, early"]
    return paired.text(results, head, lines)


PAGE = Page("durable-apps.md", "<!-- real: written by bench/durable/durable_store.py --docs, do not edit -->", markdown)


def main():
    options = paired.parse(__doc__, "durable-store", rounds=(1, 5), duration=("200", "1000"), page=PAGE.name)
    cases = [(application, work) for application in APPLICATIONS for work in WORKS if work == "light" or application not in GRAPHS]
    if options.quick:
        cases = [("A", "light"), ("E", "heavy"), ("F", "light"), ("enron", "light")]
    paired.tell(options, cases, lambda case: run(options, case), summaries, markdown, PAGE)


if __name__ == "__main__":
    main()
