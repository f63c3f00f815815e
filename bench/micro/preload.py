"""./run bench preload: what the preload library costs a process that has no gRPC.

Children of /bin/true are started one after the other and waited for: without anything preloaded, with the preload
library, and with all of Skein and gRPC preloaded, as if the library did not look first. Cases take turns child by child
(A B A B ...), the last one at each tenth turn. A round gives the median of its children's times, the mean of their
processor times, and how much more either is than with nothing preloaded in the same round."""

import os
import resource
import statistics
import sys
import time

from harness import paired, statistics_of

PROGRAM = "/bin/true"
# name: (the preloaded library below the build directory, at how many turns its turn comes)
CASES = {
    "nothing preloaded": (None, 1),
    "preload library": ("grpc_transport/libskein_grpc_preload.so", 1),
    "all of Skein and gRPC": ("grpc_transport/libskein_grpc.so", 10),
}
BASE = "nothing preloaded"


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
                children[case].append(child(None if library is None else options.build / library))
    means = (statistics.median, statistics.mean)
    return {case: [mean(each) for mean, each in zip(means, zip(*of))] for case, of in children.items()}


def summaries(rounds):
    """{case: {figure: summary, and how much more it is than with nothing preloaded}}."""
    return {
        case: {
            figure: {
                **statistics_of.summary([each[case][index] for each in rounds]),
                "more_than_nothing": statistics_of.summary([each[case][index] - each[BASE][index] for each in rounds]),
            }
            for index, figure in enumerate(("us_per_child", "processor_us_per_child"))
        }
        for case in CASES
    }


def text(results):
    lines = []
    for case, figures in results["cases"].items():
        for figure, values in figures.items():
            more = values["more_than_nothing"]
            spread = f"{more['median']:,.0f} ({more['min']:,.0f}..{more['max']:,.0f})"
            lines.append(f"{case}: {figure} {values['median']:,.0f}; more than nothing {spread}")
    return "\n".join(lines)


def main():
    options = paired.parse(__doc__, "preload", rounds=(2, 15))
    options.children = 10 if options.quick else 100
    if not options.results:
        one_round(options)  # the files are in the kernel's memory then
    # Cases take turns child by child: a round has one turn, of all of them.
    paired.tell(options, ["children"], lambda _: one_round(options), lambda series: summaries(series["children"]), text,
                settings=("rounds", "children", "quick"))  # fmt: skip


if __name__ == "__main__":
    main()
