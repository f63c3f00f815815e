"""preload.py --build DIR [--quick] [--out FILE] [--seed N]: what the preload library costs a process that has no gRPC.

Children of /bin/true are started one after the other and waited for: without anything preloaded, with the preload
library, and with all of Skein and gRPC preloaded, as if the library did not look first. Cases take turns child by child (A B A B ...), the last one at each tenth
turn. A round gives the median of its children's times, the mean of their processor times, and how much more either is
than with nothing preloaded in the same round."""

import json
import os
import pathlib
import resource
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "macro"))
import arguments  # noqa: E402
import machine  # noqa: E402
import statistics_of  # noqa: E402

PROGRAM = "/bin/true"
# name: (the preloaded library below the build directory, at how many turns its turn comes)
CASES = {
    "nothing preloaded": (None, 1),
    "preload library": ("grpc_transport/libskein_grpc_preload.so", 1),
    "all of Skein and gRPC": ("grpc_transport/libskein_grpc.so", 10),
}
BASE = "nothing preloaded"


def parse_arguments():
    options = arguments.parse(__doc__, "bench_preload.json")
    options.rounds = 2 if options.quick else 15
    options.children = 10 if options.quick else 100
    return options


def processor_us():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1e6


def child(library):
    """(time from its start to its end, its processor time), in microseconds."""
    environment = {"PATH": os.environ["PATH"], "SKEIN_GRPC": "prefer"}
    if library is not None:
        environment["LD_PRELOAD"] = str(library)
    used, begun = processor_us(), time.perf_counter()
    _, status = os.waitpid(os.posix_spawn(PROGRAM, [PROGRAM], environment), 0)
    if status != 0:
        sys.exit(f"bench: {PROGRAM} ended with status {status} under {library}")
    return (time.perf_counter() - begun) * 1e6, processor_us() - used


def one_round(options):
    """{case: [time, processor time]}."""
    children = {case: [] for case in CASES}
    for number in range(options.children):
        for case, (library, turns) in CASES.items():
            if number % turns == 0:
                children[case].append(child(None if library is None else options.build.resolve() / library))
    means = (statistics.median, statistics.mean)
    return {case: [mean(each) for mean, each in zip(means, zip(*of))] for case, of in children.items()}


def main():
    options = parse_arguments()
    one_round(options)  # the files are in the kernel's memory then
    rounds = []
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
        rounds.append(one_round(options))
    results = {
        **machine.heading(options, "rounds", "children", "quick"),
        "load": os.getloadavg()[1],
        "cases": {
            case: {
                figure: {
                    **statistics_of.summary([each[case][index] for each in rounds]),
                    "more_than_nothing": statistics_of.summary(
                        [each[case][index] - each[BASE][index] for each in rounds]
                    ),
                }
                for index, figure in enumerate(("us_per_child", "processor_us_per_child"))
            }
            for case in CASES
        },
    }
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    for case, figures in results["cases"].items():
        for figure, values in figures.items():
            more = values["more_than_nothing"]
            print(
                f"{case}: {figure} {values['median']:,.0f}; more than nothing {more['median']:,.0f} "
                f"({more['min']:,.0f}..{more['max']:,.0f})"
            )
    print(f"written: {options.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
