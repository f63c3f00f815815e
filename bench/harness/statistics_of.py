"""Medians, spreads, ratios: what is kept of a series of measurements."""

import statistics


def summary(values):
    quartiles = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return {
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
        "first_quartile": quartiles[0],
        "third_quartile": quartiles[2],
        "values": values,
    }


def ratios(values, base):
    """Each value divided by its neighbour of the same round in `base`."""
    return [value / reference for value, reference in zip(values, base, strict=True)]


def with_ratio(values, base):
    """A summary of `values`, and of their ratios to `base`."""
    summed = summary(ratios(values, base))
    summed.pop("values")
    return {**summary(values), "ratio": summed}


def beside(rounds, base, figures):
    """{figure: with_ratio()} of rounds that are {figure: value}."""
    return {figure: with_ratio([each[figure] for each in rounds], [each[figure] for each in base]) for figure in figures}
