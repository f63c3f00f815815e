"""Benchmarks in real time: all cases have their turn in each of several rounds, and ratios are taken within a round."""

import os
import random
import sys

from harness import arguments, record, table

SETTINGS = ("seed", "rounds", "duration", "quick")


def parse(doc, name, rounds, duration=("", ""), page="", more=()):
    """`rounds`, and `duration` of a case in a round: (of a quick run, of a whole one)."""
    found = arguments.parse(doc, name, page=page, more=more)
    found.rounds, found.duration = (of[0 if found.quick else 1] for of in (rounds, duration))
    found.random = random.Random(found.seed)
    return found


def by_turns(options, cases, run):
    """{case: run(case)}, one after the other in an order drawn by lot."""
    return {case: run(case) for case in options.random.sample(list(cases), len(cases))}


def rounds(options, cases, run):
    """{case: [what run(case) returned, one of each round]}."""
    series = {case: [] for case in cases}
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
        for case, found in by_turns(options, cases, run).items():
            series[case].append(found)
    return series


def name(case):
    """Of a case that is a tuple, in JSON."""
    return ", ".join(map(str, case))


def about(results):
    """When, where and how it was measured."""
    machine, settings = results["machine"], results["settings"]
    return (
        f"{results['date'][:10]}, commit {machine['commit']}, {machine['cores']} cores of {machine['cpu']} ({machine['virtual']}), Linux"
        f" {machine['kernel']}; load average {results['load']:.1f}. {settings['rounds']} rounds of {settings['duration']} a figure; seed"
        f" {settings['seed']}."
    )


def text(results, head, lines):
    return "\n".join([about(results), "", *table.rows(head, lines)])


def tell(options, cases, run, summaries, text, page=None, settings=SETTINGS):
    """run(case) gives a case's figures, summaries({case: [figures of each round]}) what the results have of them, and
    text(results) what the terminal shows. `settings`: names of options that the results have."""

    def measure():
        series = rounds(options, cases, run)
        return {**record.heading(options, *settings), "load": os.getloadavg()[1], "cases": summaries(series)}

    record.tell(options, measure, text, page)
