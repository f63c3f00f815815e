"""A paper's experiments, by a program of bench/sim: its runs, and the page that has them beside the paper's claims."""

from harness import claims, plots
from harness.model import Model
from harness.page import Page


class Results:
    """The runs, by experiment, series and x."""

    def __init__(self, results):
        self._runs = claims.Points({(run["experiment"], run["series"], run["x"]): run for run in results["runs"]})

    def get(self, experiment, series, x, figure="mrps"):
        return self._runs[experiment, series, x][figure]

    def runs(self):
        return list(self._runs)

    def series(self, experiment):
        """{series: [(x, run), ...]} in the order they were run."""
        found = {}
        for (of, series, x), run in self._runs.items():
            if of == experiment:
                found.setdefault(series, []).append((x, run))
        return found

    def ratio(self, experiment, one, other, x, figure="mrps"):
        return self.get(experiment, one, x, figure) / self.get(experiment, other, x, figure)


def model(about, name, claimed, drawn):
    """bench_NAME_sim prints what docs/NAME-sim.md has. `drawn`: (experiment, file, title, x axis, the figure drawn, y
    axis) of each plot."""

    def charts(found):
        runs = Results(found)
        return {
            file: plots.chart(title, x_title, y_title, {
                series: [(x, run[figure]) for x, run in line] for series, line in runs.series(experiment).items()
            })
            for experiment, file, title, x_title, figure, y_title in drawn
        }  # fmt: skip

    page = Page(
        f"{name}-sim.md",
        f"<!-- figures: written by bench/sim/{name}_sim.py --docs, do not edit -->",
        lambda found: claims.markdown(Results(found), claimed, found["seed"]),
        charts,
    )
    return Model(about, f"{name}-sim", (f"bench/sim/bench_{name}_sim",), claimed, Results, page)
