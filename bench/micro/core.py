"""./run bench core: calls of core/rpc, and many streams of
core/stream, between two processes over shared memory.

How long is a round trip of 64 bytes when both ends spin, what does coalescing give when several threads have several
calls under way, and what do 10,000 streams cost? The cases of a round run one after the other in shuffled order, and
every ratio is taken within its round. With --before, an earlier build does the same in the same rounds, and ratios are
to that."""

from harness import arguments, paired, program, statistics_of

# name: (program, flags, the case that ratios are to)
RATE = ("--measure=rate", "--mode=hybrid", "--threads=4", "--window=8")
CASES = {
    "latency": ("bench_rpc", ("--measure=latency",), "latency"),
    "rate, each message by itself": ("bench_rpc", (*RATE, "--coalesce=false"), "rate, each message by itself"),
    "rate, coalesced": ("bench_rpc", RATE, "rate, each message by itself"),
    "streams": ("bench_streams", (), "streams"),
}


def parse_arguments():
    options = paired.parse(__doc__, "core", rounds=(2, 7), duration=("50ms", "1s"), more=[arguments.BEFORE])
    options.count, options.streams = (1000, 1000) if options.quick else (100000, 10000)
    return options


def cases_of(options):
    """All cases, by name: (build directory, program, flags, the case that ratios are to)."""
    builds = {"before: ": options.before, "": options.build} if options.before else {"": options.build}
    return {
        prefix + case: (build, program, flags, f"before: {case}" if options.before else base)
        for prefix, build in builds.items()
        for case, (program, flags, base) in CASES.items()
    }


def run(options, build, name, flags):
    common = {
        "bench_rpc": (f"--duration={options.duration}", f"--count={options.count}"),
        "bench_streams": (f"--streams={options.streams}",),
    }
    figures = program.figures([build / "bench/micro" / name, *common[name], *flags])
    return {key: value for key, value in figures.items() if key.endswith(("_us", "_per_s", "_bytes", "links"))}


def summaries(cases, series):
    """{case: {figure: summary, with its ratio to the case's base}}."""
    return {case: statistics_of.beside(rounds, series[cases[case][3]], rounds[0]) for case, rounds in series.items()}


def text(results):
    return "\n".join(
        f"{case}: {figure} {summary['median']:,.3f}, x{summary['ratio']['median']:.2f}"
        for case, figures in results["cases"].items()
        for figure, summary in figures.items()
    )


def main():
    options = parse_arguments()
    cases = cases_of(options)
    paired.tell(options, cases, lambda case: run(options, *cases[case][:3]), lambda series: summaries(cases, series), text,
                settings=(*paired.SETTINGS, "count", "streams"))  # fmt: skip


if __name__ == "__main__":
    main()
