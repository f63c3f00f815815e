"""Rounds in which every case has its turn."""

import random
import sys


def rounds(options, cases, run):
    """{case: [what run(case) returned, one of each round]}. The order within a round is random, by options.seed."""
    rng = random.Random(options.seed)
    series = {case: [] for case in cases}
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
        for case in rng.sample(list(cases), len(cases)):
            series[case].append(run(case))
    return series
