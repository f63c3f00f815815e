"""A program of bench/sim, and the page of docs/ that has its figures: the claims of a paper beside them, and plots."""

import argparse
import dataclasses
import json
import pathlib
import subprocess
import sys

import claims

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "macro"))
import plots  # noqa: E402

END = "<!-- end of figures -->"


@dataclasses.dataclass
class Page:
    name: str  # bench_NAME_sim prints what docs/NAME-sim.md has
    claims: tuple
    plots: tuple  # experiment, file, title, x axis, the figure drawn, y axis

    @property
    def begin(self):
        return f"<!-- figures: written by bench/sim/{self.name}_sim.py --docs, do not edit -->"


def parse_arguments(page, about):
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help=f"a build directory with bench_{page.name}_sim")
    parser.add_argument("--quick", action="store_true", help="fewer points, less simulated time: do the claims hold")
    parser.add_argument("--out", type=pathlib.Path, help=f"JSON file (default: {page.name}_sim.json beside the build directory)")
    parser.add_argument("--seed", type=int, default=20261, help="of all chance")
    parser.add_argument("--docs", type=pathlib.Path, help="write the table and the plots there")
    options = parser.parse_args()
    options.out = options.out or options.build.resolve().parent / f"{page.name}_sim.json"
    return options


def run(page, options):
    command = [str(options.build / f"bench/sim/bench_{page.name}_sim"), f"--seed={options.seed}"]
    done = subprocess.run(command + ["--quick"] * options.quick, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {command[0]}, seed {options.seed}: exit status {done.returncode}")
    options.out.write_text(done.stdout)
    return json.loads(done.stdout)


def table(page, results):
    lines = ["| | paper | here |", "| --- | --- | --- |"]
    for claim, figure in claims.of(claims.Results(results), page.claims):
        lines.append(f"| {claim.what} | {claim.paper} | **{claim.form.format(figure)}** |")
    return "\n".join([f"Seed {results['seed']}.", "", *lines])


def write_docs(page, results, folder):
    file = folder / f"{page.name}-sim.md"
    before, found, rest = file.read_text().partition(page.begin)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        sys.exit(f"bench: {file} lacks its markers: {page.begin} ... {END}")
    file.write_text(f"{before}{page.begin}\n\n{table(page, results)}\n\n{END}{after}")
    drawn = folder / f"{page.name}-sim"
    drawn.mkdir(exist_ok=True)
    charts = {}
    for experiment, name, title, x_title, figure, y_title in page.plots:
        runs = claims.Results(results).series(experiment)
        series = {of: [(x, run[figure]) for x, run in line] for of, line in runs.items()}
        charts[drawn / f"{name}.svg"] = plots.chart(title, x_title, y_title, series)
    plots.draw(charts)


def main(page, about):
    options = parse_arguments(page, about)
    results = run(page, options)
    print(table(page, results))
    if options.docs:
        write_docs(page, results, options.docs)
    broken = list(claims.broken(claims.Results(results), page.claims))
    for what in broken:
        print(f"bench: {what} (seed {options.seed})", file=sys.stderr)
    sys.exit(1 if broken else 0)
