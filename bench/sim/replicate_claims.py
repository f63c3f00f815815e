"""RDMC's claims, as figures of the model: what copies to many cost beside a copy to one."""

from harness.claims import Claim


def copies(receivers, series="pipeline"):
    """Of one copy's time."""
    return lambda r: r.get("replicate", series, receivers, "ms") / r.get("replicate", "pipeline", 1, "ms")


def to_pipeline(receivers, series):
    return lambda r: r.ratio("replicate", series, "pipeline", receivers, "ms")


def sizes(kilobytes, series):
    return lambda r: r.ratio("sizes, 7 receivers", series, "pipeline", kilobytes, "ms")


def woken(receivers):
    return lambda r: r.ratio("waiting", "woken for each block", "polling", receivers, "ms")


def copied(receivers):
    return lambda r: r.get("copies", "at both ends", receivers, "ms") / r.get("copies", "at both ends", 1, "ms")


def slow(receivers):
    return lambda r: r.ratio("slow", "the last, half the rate", "none", receivers, "ms")


def blocks(series):
    return lambda r: r.get("blocks", series, 1024, "ms") / r.get("blocks", series, 256, "ms")


def worst(least, most):
    """Of all numbers of receivers there are, in copies."""
    def here(r):
        line = {x: run["ms"] for x, run in r.series("numbers")["blocks of 256 KiB"]}
        return max(ms for x, ms in line.items() if least <= x <= most) / line[1]
    return here


def one_under_way(series):
    return lambda r: r.get("under way", series, 1, "ms") / r.get("under way", series, 8, "ms")


CLAIMS = (
    Claim("100 MB to 3 receivers, of one copy's time: pipeline", "nearly 1", least=1, most=1.35, here=copies(3)),
    Claim("the same, to 7", "nearly 1", least=1, most=1.35, here=copies(7)),
    Claim("the same, to 15", "(ours)", least=1, most=1.35, here=copies(15)),
    Claim("the same, to 512", "a few times", least=1, most=4, here=copies(512)),
    Claim("the worst number of 1 to 19 receivers", "(ours)", most=1.35, here=worst(1, 19)),
    Claim("the worst number of 20 to 64 receivers", "(ours)", most=2, here=worst(20, 64)),
    Claim("to 3, by sequential sends", "(ours)", least=2.9, here=copies(3, "sequential")),
    Claim("to 15, sequential", "(ours)", least=14, here=copies(15, "sequential")),
    Claim("to 15, chain", "(ours)", here=copies(15, "chain")),
    Claim("to 15, binomial tree", "(ours)", least=3.5, here=copies(15, "tree")),
    Claim("to 512, sequential", "(ours)", form="{:.0f}x", least=400, here=copies(512, "sequential")),
    Claim("to 512, chain", "(ours)", least=3, here=copies(512, "chain")),
    Claim("to 512, binomial tree", "(ours)", least=8, here=copies(512, "tree")),
    Claim("sequential to pipeline, 3 receivers", "more", least=2, here=to_pipeline(3, "sequential")),
    Claim("10 KB to 7 receivers: sequential to pipeline", "(ours)", here=sizes(10, "sequential")),
    Claim("the same, tree to pipeline", "(ours)", here=sizes(10, "tree")),
    Claim("1 MB to 7 receivers: sequential to pipeline", "(ours)", least=2, here=sizes(1000, "sequential")),
    Claim("threads woken for each block to polling: 100 MB, 3 receivers", "nearly 1", most=1.15, here=woken(3)),
    Claim("the same, 15 receivers", "nearly 1", most=1.15, here=woken(15)),
    Claim("the same, 512 receivers", "nearly 1", most=1.25, here=woken(512)),
    Claim("100 MB to 3 receivers, of one copy's time, where threads copy each block out and in", "(ours)", here=copied(3)),
    Claim("the same, to 15", "(ours)", least=1.35, here=copied(15)),
    Claim("one of 15 receivers has half the rate, to none", "(ours)", least=1.5, most=4, here=slow(15)),
    Claim("blocks of 1 MiB to 256 KiB, 15 receivers", "(ours)", here=blocks("15 receivers")),
    Claim("the same, 512 receivers", "(ours)", here=blocks("512 receivers")),
    Claim("one block under way to eight, 15 receivers", "(ours)", least=1, here=one_under_way("15 receivers")),
    Claim("the same, 512 receivers", "(ours)", least=1, here=one_under_way("512 receivers")),
)  # fmt: skip
