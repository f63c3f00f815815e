"""./run bench durable-replicas: durable calls with three logs beside one.

Question: what of the rate of durable calls over shared memory is left when three logs must have each call before it counts
as persisted? The two replicas are processes of the same host. The logs lie in memory (tmpfs: what the protocol costs) or on
the disk of the current folder, all three on the same. The cases of a round run one after the other in shuffled order; every
ratio is to one log in the same round. --docs writes the table into DIR/durable.md."""

import contextlib
import pathlib
import subprocess
import tempfile

import durable_calls
from harness import paired, program, statistics_of
from harness.page import Page

PLACES = {"in memory": pathlib.Path("/dev/shm"), "on disk": pathlib.Path()}
SERVICES = [(framework, callers) for framework in ("grpc", "thrift") for callers in (1, 8)]
ONE, THREE = "1 log", "3 logs"
FIGURES = ("calls_per_s", "persisted_p50_us", "p50_us", "p99_us")


@contextlib.contextmanager
def replicas_in(options, folder, count):
    """Their addresses."""
    command = [options.build / "tools/skein/skein", "durable", "replica", "--listen", "127.0.0.1:0"]
    running = [
        subprocess.Popen([*command, f"{folder}/replica{i}"], stdout=subprocess.PIPE, text=True) for i in range(count)
    ]
    try:
        yield [replica.stdout.readline().split()[-1] for replica in running]
    finally:
        for replica in running:
            replica.kill()
            replica.communicate()


def run(options, case):
    framework, callers, place, logs = case
    command = durable_calls.command(options, framework, "shm", callers)
    with tempfile.TemporaryDirectory(dir=PLACES[place]) as folder:
        with replicas_in(options, folder, 2 if logs == THREE else 0) as replicas:
            return program.figures([*command, f"--log={folder}/log", f"--replicas={','.join(replicas)}"])


def summaries(series):
    """{'framework, callers, place, logs': {figure: summary, with its ratio to one log's}}."""
    return {paired.name((*service, logs)): statistics_of.beside(rounds, series[(*service, ONE)], FIGURES)
            for (*service, logs), rounds in series.items()}  # fmt: skip


def cell(one, three):
    rate = three["calls_per_s"]
    return (
        f"{one['calls_per_s']['median']:,.0f}; **x{rate['ratio']['median']:.2f}** "
        f"({rate['ratio']['min']:.2f}..{rate['ratio']['max']:.2f}); persisted "
        f"{one['persisted_p50_us']['median']:,.0f} -> {three['persisted_p50_us']['median']:,.0f}"
    )


def markdown(results):
    lines = []
    for framework, callers in SERVICES:
        found = [[results["cases"].get(paired.name((framework, callers, place, logs))) for logs in (ONE, THREE)] for place in PLACES]
        if all(map(all, found)):  # else it was not built
            lines.append([durable_calls.title(framework, callers=callers), *(cell(*both) for both in found)])
    head = ["64 bytes, shm: calls/s of one log; three logs' rate; us until persisted", *(f"logs {place}" for place in PLACES)]
    return paired.text(results, head, lines)


PAGE = Page("durable.md", "<!-- figures: written by bench/durable/durable_replicas.py --docs, do not edit -->", markdown)


def main():
    options = paired.parse(__doc__, "durable-replicas", rounds=(2, 11), duration=("50ms", "500ms"), page=PAGE.name)
    built = [service for service in SERVICES if (options.build / f"bench/durable/bench_durable_{service[0]}").exists()]
    cases = [(*service, place, logs) for service in built for place in PLACES for logs in (ONE, THREE)]
    paired.tell(options, cases, lambda case: run(options, case), summaries, markdown, PAGE)


if __name__ == "__main__":
    main()
