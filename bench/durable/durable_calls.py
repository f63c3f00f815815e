"""./run bench durable-calls: durable calls of gRPC and Thrift beside plain ones.

Question: what does a call cost more when it is durable, until it is persisted and until it is answered? The log lies in
memory (tmpfs: nothing is written to a disk; what the protocol costs) or on the disk of the current folder (fdatasync). The
cases of a round run one after the other in shuffled order; every ratio is to plain calls of the same framework, carrier and
number of callers in the same round. --docs writes the table into DIR/durable.md."""

import pathlib
import tempfile

from harness import paired, program, statistics_of
from harness.page import Page

PLAIN = "plain"
LOGS = {PLAIN: None, "log in memory": pathlib.Path("/dev/shm"), "log on disk": pathlib.Path()}
SERVICES = [(framework, carrier, callers) for framework in ("grpc", "thrift") for carrier in ("TCP", "shm") for callers in (1, 8)]
FIGURES = ("calls_per_s", "p50_us", "p99_us", "persisted_p50_us", "persisted_p99_us")


def command(options, framework, carrier, callers):
    return [options.build / f"bench/durable/bench_durable_{framework}", f"--skein={str(carrier == 'shm').lower()}",
            f"--callers={callers}", f"--duration={options.duration}"]  # fmt: skip


def run(options, case):
    *service, log = case
    asked = command(options, *service)
    if log == PLAIN:
        return program.figures(asked)
    with tempfile.TemporaryDirectory(dir=LOGS[log]) as folder:
        return program.figures([*asked, f"--log={folder}/log"])


def summaries(series):
    """{'framework, carrier, callers, log': {figure: summary, with its ratio to plain calls'}, ..., 'level': the log's}."""
    out = {}
    for (*service, log), rounds in series.items():
        plain = series[(*service, PLAIN)]
        figures = {}
        for figure in FIGURES:
            values = [round_[figure] for round_ in rounds]
            if log == PLAIN and figure.startswith("persisted"):
                continue
            base = [round_[figure.removeprefix("persisted_")] for round_ in plain]
            figures[figure] = statistics_of.with_ratio(values, base)
        out[paired.name((*service, log))] = {**figures, "level": rounds[0]["level"]}
    return out


def cell(case):
    rate = case["calls_per_s"]
    if not case["level"]:
        return f"{rate['median']:,.0f}; {case['p50_us']['median']:,.0f} / {case['p99_us']['median']:,.0f}"
    persisted, replied = case["persisted_p50_us"], case["p50_us"]
    return (
        f"**x{rate['ratio']['median']:.2f}** ({rate['ratio']['min']:.2f}..{rate['ratio']['max']:.2f}); "
        f"persisted {persisted['median']:,.0f} (x{persisted['ratio']['median']:.1f}), "
        f"answered {replied['median']:,.0f} / {case['p99_us']['median']:,.0f} (x{replied['ratio']['median']:.1f})"
    )


def title(framework, *rest, callers):
    return f"{', '.join(['gRPC' if framework == 'grpc' else 'Thrift', *rest])}, {callers} caller{'s' if callers > 1 else ''}"


def markdown(results):
    lines = [
        [title(*service, callers=callers), *(cell(results["cases"][paired.name((*service, callers, log))]) for log in LOGS)]
        for *service, callers in SERVICES
    ]
    return paired.text(results, ["64 bytes", "plain: calls/s; p50 / p99 us", *list(LOGS)[1:]], lines)


PAGE = Page("durable.md", "<!-- figures: written by bench/durable/durable_calls.py --docs, do not edit -->", markdown)


def main():
    options = paired.parse(__doc__, "durable-calls", rounds=(2, 11), duration=("50ms", "500ms"), page=PAGE.name)
    cases = [(*service, log) for service in SERVICES for log in LOGS]
    paired.tell(options, cases, lambda case: run(options, case), summaries, markdown, PAGE)


if __name__ == "__main__":
    main()
