"""A paper's claims, beside the model's figures. Each claim is a row of the table, and with bounds a test."""

import dataclasses
import typing


class Results:
    """The runs of a program of bench/sim, by experiment, series and x."""

    def __init__(self, results):
        self._runs = {(run["experiment"], run["series"], run["x"]): run for run in results["runs"]}

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


@dataclasses.dataclass
class Claim:
    what: str
    paper: str
    here: typing.Callable[[Results], float]
    form: str = "{:.2f}x"
    least: float = None  # a test asks for this: the claim's direction, with a margin
    most: float = None


def of(results, claims):
    """[(claim, figure)] of the claims these results have all points for."""
    found = []
    for claim in claims:
        try:
            found.append((claim, claim.here(results)))
        except KeyError:
            continue  # a quick run has fewer points
    return found


def broken(results, claims):
    """The claims whose figure is out of bounds, as text."""
    for claim, figure in of(results, claims):
        below = claim.least is not None and figure < claim.least
        if below or (claim.most is not None and figure > claim.most):
            bounds = f"at least {claim.least}" if below else f"at most {claim.most}"
            yield f"{claim.what}: {claim.form.format(figure)}, not {bounds}"
