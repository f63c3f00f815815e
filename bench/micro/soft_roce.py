"""soft_roce.py [rdma|service] --build DIR [--quick] [--out FILE] [--seed N]: Skein's RDMA beside other people's, on one virtual
link; or RDMA through skeind beside the process's own.

Question 1: what do WRITEs cost through core/fabric, beside perftest's? Question 2: what do streams over them give, beside
rsockets (librspreload) and TCP? All in two guests of tests/vm, in one run; what is compared runs one after the other, in
shuffled order, and ratios are taken within a round. The processors are emulated: only ratios mean anything."""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "macro"))

import arguments  # noqa: E402
import machine  # noqa: E402
import soft_roce_table  # noqa: E402
import statistics_of  # noqa: E402
import two_guests  # noqa: E402

SECONDS_A_ROUND = 400  # limit; a quiet machine needs one
BASES = {
    "rdma": {"write": "perftest", "perftest": "perftest", "stream": "tcp", "rsockets": "tcp", "tcp": "tcp"},
    "service": {"stream": "stream", "service": "stream"},
}
# Of each guest. Both ends of a stream spin. With a skeind in each guest four threads do, and where guests have more
# processors than the machine, what is measured is how the machine takes turns.
PROCESSORS = {"rdma": 2, "service": max(1, len(os.sched_getaffinity(0)) // 2)}


def parse_arguments():
    compared = "service" if sys.argv[1:2] == ["service"] else "rdma"
    sys.argv = [word for number, word in enumerate(sys.argv) if number != 1 or word not in BASES]
    options = arguments.parse(__doc__, f"bench_{compared}.json", quick="one round: does it run, not what are the figures")
    options.build = options.build.resolve()
    options.rounds = 1 if options.quick else 5
    options.compared = compared
    options.processors = PROCESSORS[compared]
    return options


def run_guests(options):
    """What guest/bench_rdma.py has left, round by round."""
    arguments = [str(options.build), str(options.rounds), str(options.seed), options.compared]
    return two_guests.run("bench_rdma", arguments, SECONDS_A_ROUND * options.rounds + 100, options.processors)


def summaries(rounds, base):
    """[{"TOOL MEASURE BYTES": {figure: value}}] as {the same: {figure: summary with ratios}}."""
    return {name: summary(name, rounds, base) for name in sorted(rounds[0])}


def summary(name, rounds, base):
    tool, rest = name.split(" ", 1)
    figures = {
        figure: statistics_of.with_ratio(
            [round_[name][figure] for round_ in rounds], [round_[f"{base[tool]} {rest}"][figure] for round_ in rounds]
        )
        for figure in rounds[0][name]
        if figure != "failures"
    }
    return {**figures, "failures": sum(round_[name]["failures"] for round_ in rounds)}


def main():
    options = parse_arguments()
    rounds = run_guests(options)
    results = {
        **machine.heading(options, "seed", "rounds", "quick", "compared", "processors"),
        "figures": summaries(rounds, BASES[options.compared]),
    }
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    print(soft_roce_table.markdown(results))
    print(f"written: {options.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
