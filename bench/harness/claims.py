"""A paper's claims, beside the model's figures. Each claim is a row of the table, and with bounds a test."""

import dataclasses
import typing

from harness import table


@dataclasses.dataclass
class Claim:
    what: str
    paper: str
    here: typing.Callable  # of a model's results, its figure; KeyError: they lack the points
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


def markdown(results, claims, seed):
    rows = [[claim.what, claim.paper, f"**{claim.form.format(figure)}**"] for claim, figure in of(results, claims)]
    return "\n".join([f"Seed {seed}.", "", *table.rows(["", "paper", "here"], rows)])
