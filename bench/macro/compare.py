"""compare.py --build DIR [--quick] [--out FILE] [--seed N]: gRPC over TCP, over a UNIX socket and over Skein.

Question 1, steady: what do calls cost once a connection is there? Question 2, first call: what does a new process pay
for asking its peer whether it speaks Skein? Each figure is of processes of its own; the cases of a round run one after
the other in shuffled order, and every ratio is taken within a round, so that a machine whose speed drifts (a virtual
one, a laptop) does not favour any."""

import collections
import json
import random
import sys

import arguments
import cases
import machine
import statistics_of
import table

STYLES = ("sync", "callback")


def parse_arguments():
    options = arguments.parse(__doc__, "bench.json")
    options.rounds = 3 if options.quick else 9
    options.first_calls = 5 if options.quick else 41
    options.duration = "0.2s" if options.quick else "1s"
    return options


def say(text):
    print(text, file=sys.stderr, flush=True)


def possible(stage, wanted):
    """Without Skein in the build, only the plain cases."""
    return [case for case in wanted if stage.has_skein() or not (case.skein_client or case.skein_server)]


def figures_by_case(series):
    """{case: [{figure: value}]}, one per round, as {case name: {figure: summary with ratios}}."""
    return {
        case.name: {
            figure: statistics_of.with_ratio(
                [round_[figure] for round_ in rounds], [round_[figure] for round_ in series[cases.baseline(case)]]
            )
            for figure in rounds[0]
        }
        for case, rounds in series.items()
    }


def measure_steady(stage, style, options, rng):
    chosen = possible(stage, cases.STEADY)
    series = {case: [] for case in chosen}
    for number in range(options.rounds):
        say(f"steady, {style}: round {number + 1} of {options.rounds}")
        for case in rng.sample(chosen, len(chosen)):
            with stage.server(case, style) as address:
                flags = ("--measure=steady", f"--style={style}", f"--duration={options.duration}")
                series[case].append(stage.client(case, address, *flags))
    return figures_by_case(series)


def measure_first_call(stage, options, rng):
    chosen = possible(stage, cases.FIRST_CALL)
    series = collections.defaultdict(list)
    for number in range(options.first_calls):
        if number % 10 == 0:
            say(f"first call: round {number + 1} of {options.first_calls}")
        for case in rng.sample(chosen, len(chosen)):
            # A server of its own for each call, which has answered one client before: its own start is not the question.
            with stage.server(case, "sync") as address:
                stage.client(case, address, "--measure=first_call")
                series[case].append(stage.client(case, address, "--measure=first_call"))
    return figures_by_case({case: series[case] for case in chosen})


def main():
    options = parse_arguments()
    rng = random.Random(options.seed)
    with cases.Stage(options.build) as stage:
        if not stage.has_skein():
            say("This build has no Skein for gRPC: only the plain cases are measured.")
        results = {
            **machine.heading(options, "seed", "rounds", "duration", "first_calls", "quick"),
            "environment": cases.MALLOC,
            "steady": {style: measure_steady(stage, style, options, rng) for style in STYLES},
            "first_call": measure_first_call(stage, options, rng),
        }
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    print(table.markdown(results))
    say(f"written: {options.out}")


if __name__ == "__main__":
    try:
        main()
    except cases.Failure as failure:
        sys.exit(f"bench: {failure}")
