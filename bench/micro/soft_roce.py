"""./run bench rdma|service: Skein's RDMA beside other people's, on one virtual link; or RDMA through skeind beside the
process's own.

Question 1: what do WRITEs cost through core/fabric, beside perftest's? Question 2: what do streams over them give, beside
rsockets (librspreload) and TCP? All in two guests of tests/vm, in one run; what is compared runs one after the other, in
shuffled order, and ratios are taken within a round. The processors are emulated: only ratios mean anything."""

import os

import soft_roce_table
from harness import arguments, guests, record, statistics_of

SECONDS_A_ROUND = 400  # limit; a quiet machine needs one
BASES = {
    "rdma": {"write": "perftest", "perftest": "perftest", "stream": "tcp", "rsockets": "tcp", "tcp": "tcp"},
    "service": {"stream": "stream", "service": "stream"},
}
# Of each guest. Both ends of a stream spin. With a skeind in each guest four threads do, and where guests have more
# processors than the machine, what is measured is how the machine takes turns.
PROCESSORS = {"rdma": 2, "service": max(1, len(os.sched_getaffinity(0)) // 2)}


def run_guests(options):
    """What guest/bench_rdma.py has left, round by round."""
    asked = [str(options.build), str(options.rounds), str(options.seed), options.compared]
    return guests.two("bench_rdma", asked, SECONDS_A_ROUND * options.rounds + 100, options.processors)


def summaries(rounds, base):
    """[{"TOOL MEASURE BYTES": {figure: value}}] as {the same: {figure: summary with ratios}}."""
    return {name: summary(name, rounds, base) for name in sorted(rounds[0])}


def summary(name, rounds, base):
    tool, rest = name.split(" ", 1)
    ours, others = ([each[one] for each in rounds] for one in (name, f"{base[tool]} {rest}"))
    figures = statistics_of.beside(ours, others, [figure for figure in ours[0] if figure != "failures"])
    return {**figures, "failures": sum(each["failures"] for each in ours)}


def measure(options):
    heading = record.heading(options, "seed", "rounds", "quick", "compared", "processors")
    return {**heading, "figures": summaries(run_guests(options), BASES[options.compared])}


def main():
    page = soft_roce_table.PAGE
    options = arguments.parse(__doc__, *BASES, page=page.name, quick="one round: does it run, not what are the figures")
    options.compared, options.processors = options.name, PROCESSORS[options.name]
    options.rounds = 1 if options.quick else 5
    record.tell(options, lambda: measure(options), page.markdown, page if options.name == "rdma" else None)


if __name__ == "__main__":
    main()
