"""flock_sim.py --build DIR [--quick] [--out FILE] [--seed N] [--docs DIR]: FLOCK's experiments, on a model.

Question: do FLOCK's mechanisms, with the policies of core/schedule as they are, give on one calibration of its machines
what its thesis says they give? Simulated time: a seed has one outcome. Prints the claims beside the figures; --docs writes
them into DIR/flock-sim.md, and the plots beside it. Exit status 1: a claim's direction does not hold."""

import argparse
import json
import pathlib
import subprocess
import sys

import claims

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "macro"))
import plots  # noqa: E402

BEGIN = "<!-- figures: written by bench/sim/flock_sim.py --docs, do not edit -->"
END = "<!-- end of figures -->"

# Experiment, file, title, x axis, the figure drawn, y axis.
MILLIONS = ("mrps", "million requests a second")
PLOTS = (
    ("reads", "reads", "READs of 16 bytes (fig. 2.2 a)", "queue pairs", *MILLIONS),
    ("sharing, 1 outstanding", "sharing-1", "1 outstanding request", "threads of each of 23 clients", *MILLIONS),
    ("sharing, 4 outstanding", "sharing-4", "4 outstanding requests", "threads of each of 23 clients", *MILLIONS),
    ("sharing, 8 outstanding", "sharing-8", "8 outstanding requests (fig. 4.4)", "threads of each of 23 clients", *MILLIONS),
    ("sharing, 8 outstanding", "sharing-8-p99", "8 outstanding requests: latency (fig. 4.4)", "threads of each of 23 clients", "p99_us", "p99, us"),
    ("coalescing", "coalescing", "Coalescing, 32 threads (fig. 4.5)", "outstanding requests of a thread", *MILLIONS),
    ("large payloads", "large", "Every tenth thread sends large requests (fig. 4.6)", "bytes of a large request", *MILLIONS),
    ("processes", "processes", "Client processes (fig. 4.7)", "processes on 23 hosts", *MILLIONS),
    ("link, 23 clients, 8 outstanding", "link", "Queue pairs of a link, polled by one core", "threads of each of 23 clients", *MILLIONS),
    ("clients", "clients", "Beyond the paper", "clients on 23 hosts", *MILLIONS),
)  # fmt: skip


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a build directory with bench_flock_sim")
    parser.add_argument("--quick", action="store_true", help="fewer points, less simulated time: do the claims hold")
    parser.add_argument("--out", type=pathlib.Path, help="JSON file (default: flock_sim.json beside the build directory)")
    parser.add_argument("--seed", type=int, default=20261, help="of all chance")
    parser.add_argument("--docs", type=pathlib.Path, help="write the table and the plots there")
    options = parser.parse_args()
    options.out = options.out or options.build.resolve().parent / "flock_sim.json"
    return options


def run(options):
    command = [str(options.build / "bench/sim/bench_flock_sim"), f"--seed={options.seed}"]
    done = subprocess.run(command + ["--quick"] * options.quick, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: bench_flock_sim, seed {options.seed}: exit status {done.returncode}")
    options.out.write_text(done.stdout)
    return json.loads(done.stdout)


def table(results):
    lines = ["| | paper | here |", "| --- | --- | --- |"]
    for claim, figure in claims.of(claims.Results(results)):
        lines.append(f"| {claim.what} | {claim.paper} | **{claim.form.format(figure)}** |")
    return "\n".join([f"Seed {results['seed']}.", "", *lines])


def write_docs(results, folder):
    page = folder / "flock-sim.md"
    before, found, rest = page.read_text().partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        sys.exit(f"bench: {page} lacks its markers: {BEGIN} ... {END}")
    page.write_text(f"{before}{BEGIN}\n\n{table(results)}\n\n{END}{after}")
    (folder / "flock-sim").mkdir(exist_ok=True)
    charts = {}
    for experiment, name, title, x_title, figure, y_title in PLOTS:
        runs = claims.Results(results).series(experiment)
        series = {of: [(x, run[figure]) for x, run in line] for of, line in runs.items()}
        charts[folder / "flock-sim" / f"{name}.svg"] = plots.chart(title, x_title, y_title, series)
    plots.draw(charts)


def main():
    options = parse_arguments()
    results = run(options)
    print(table(results))
    if options.docs:
        write_docs(results, options.docs)
    broken = list(claims.broken(claims.Results(results)))
    for what in broken:
        print(f"bench: {what} (seed {options.seed})", file=sys.stderr)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
