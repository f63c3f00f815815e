"""A paper's claims, beside the model's figures. Each claim is a row of the table, and with bounds a test."""

import dataclasses
import typing

from harness import table


class NoPoint(KeyError):
    """The results lack a point."""


class Points(dict):
    """Results by point."""

    def __missing__(self, point):
        raise NoPoint(point)


@dataclasses.dataclass
class Claim:
    what: str
    paper: str
    here: typing.Callable  # of a model's results, its figure; NoPoint: they lack some
    form: str = "{:.2f}x"
    least: float = None  # a test asks for this: the claim's direction, with a margin
    most: float = None


def of(results, claims):
    """[(claim, figure)] of the claims these results have all points for."""
    found = []
    for claim in claims:
        try:
            found.append((claim, claim.here(results)))
        except NoPoint:
            continue  # a quick run has fewer
    return found


def broken(results, claims, whole=False):
    """The claims whose figure is out of bounds, as text; where the results are `whole`, those that lack points, too."""
    judged = of(results, claims)
    if whole:
        yield from (f"{claim.what}: there are no points" for claim in claims if not any(claim is one for one, _ in judged))
    for claim, figure in judged:
        below = claim.least is not None and figure < claim.least
        if below or (claim.most is not None and figure > claim.most):
            bounds = f"at least {claim.least}" if below else f"at most {claim.most}"
            yield f"{claim.what}: {claim.form.format(figure)}, not {bounds}"


def markdown(results, claims, seed):
    rows = [[claim.what, claim.paper, f"**{claim.form.format(figure)}**"] for claim, figure in of(results, claims)]
    return "\n".join([f"Seed {seed}.", "", *table.rows(["", "paper", "here"], rows)])
