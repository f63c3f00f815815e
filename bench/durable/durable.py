"""./run bench durable: SC'21's micro-benchmark, on the simulated fabric.

Question: what does it gain to know that a request is safe before it is executed, in the four ways of core/durable/flush,
beside exchanges that wait for their reply? Simulated time: a seed has one outcome. Prints the paper's claims beside the
figures, then the figures; --docs writes them into DIR/durable-performance.md. Exit status 1: a claim's direction does not
hold."""

import durable_claims as paper
from harness import claims, table
from harness.model import Model
from harness.page import Page

BEGIN = "<!-- figures: written by bench/durable/durable.py --docs, do not edit -->"

# Experiment, title, what its columns are.
TABLES = (
    ("sizes", "Sizes and loads (fig. 8, 9)", lambda asked: f"{size(asked['object_bytes'])}, {asked['load']}"),
    ("reads", "Reads, heavy, 1 KiB (fig. 18)", lambda asked: f"{asked['read_percent']} % reads"),
    ("senders", "Senders, 1 KiB (fig. 17)", lambda asked: f"{asked['senders']}, {asked['load']}"),
    ("batches", "Batches, light, 1 KiB (fig. 19)", lambda asked: f"{asked['batch']} in a batch"),
)


def size(count):
    return f"{count} B" if count < 1024 else f"{count // 1024} KiB"


def cell(run):
    """'18.0; 3.5, 195.6': thousands of operations a second; p99 of a write and of a read."""
    if run is None:
        return ""
    return f"**{run['kops']:,.1f}**; {run['write']['p99_us']:,.1f}, {run['read']['p99_us']:,.1f}"


def experiment_rows(results, experiment, column_of):
    settings = paper.Results(results).settings(experiment)
    header = ["", *(column_of(asked) for asked, _ in settings)]
    lines = [[exchange, *(cell(runs.get(exchange)) for _, runs in settings)] for exchange in paper.EXCHANGES]
    return header, lines


def markdown(results):
    lines = [claims.markdown(paper.Results(results), paper.CLAIMS, results["seed"])]
    for experiment, title, column_of in TABLES:
        header, cells = experiment_rows(results, experiment, column_of)
        if len(header) > 1:
            lines += ["", f"### {title}", "", *table.rows(header, cells)]
    return "\n".join(lines)


PAGE = Page("durable-performance.md", BEGIN, markdown)
MODEL = Model(__doc__, "durable", ("bench/durable/bench_durable",), paper.CLAIMS, paper.Results, PAGE)

if __name__ == "__main__":
    MODEL.main()
