"""durable.py --build DIR [--quick] [--out FILE] [--seed N] [--docs DIR]: SC'21's micro-benchmark, on the simulated fabric.

Question: what does it gain to know that a request is safe before it is executed, in the four ways of core/durable/flush,
beside exchanges that wait for their reply? Simulated time: a seed has one outcome. Prints the paper's claims beside the
figures, then the figures; --docs writes them into DIR/durable-performance.md. Exit status 1: a claim's direction does not
hold."""

import argparse
import json
import pathlib
import subprocess
import sys

import durable_claims as paper

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "sim"))
sys.path.insert(0, str(HERE.parent / "macro"))
import claims  # noqa: E402
import table  # noqa: E402

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


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a build directory with bench_durable")
    parser.add_argument("--quick", action="store_true", help="fewer points and operations: do the claims hold")
    parser.add_argument("--out", type=pathlib.Path, help="JSON file (default: durable.json beside the build directory)")
    parser.add_argument("--seed", type=int, default=20261, help="of all chance")
    parser.add_argument("--docs", type=pathlib.Path, help="write the tables there")
    options = parser.parse_args()
    options.out = options.out or options.build.resolve().parent / "durable.json"
    return options


def run(options):
    command = [str(options.build / "bench/durable/bench_durable"), f"--seed={options.seed}"]
    done = subprocess.run(command + ["--quick"] * options.quick, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: bench_durable, seed {options.seed}: exit status {done.returncode}")
    options.out.write_text(done.stdout)
    return json.loads(done.stdout)


def claim_rows(results):
    found = claims.of(paper.Results(results), paper.CLAIMS)
    return [[claim.what, claim.paper, f"**{claim.form.format(figure)}**"] for claim, figure in found]


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
    lines = [f"Seed {results['seed']}.", "", *table.rows(["", "paper", "here"], claim_rows(results))]
    for experiment, title, column_of in TABLES:
        header, cells = experiment_rows(results, experiment, column_of)
        if len(header) > 1:
            lines += ["", f"### {title}", "", *table.rows(header, cells)]
    return "\n".join(lines)


def main():
    options = parse_arguments()
    results = run(options)
    print(markdown(results))
    if options.docs:
        page = options.docs / "durable-performance.md"
        page.write_text(table.written_into(page.read_text(), markdown(results), BEGIN))
    broken = list(claims.broken(paper.Results(results), paper.CLAIMS))
    for what in broken:
        print(f"bench: {what} (seed {options.seed})", file=sys.stderr)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
