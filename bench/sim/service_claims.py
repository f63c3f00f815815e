"""The claims of RaaS's paper, as figures of the model; and the model's figures of 10,000 processes."""

from harness.claims import Claim

MISS = "own, {} ns a miss"
PEAK = 6400  # thousand calls a second offered: more than any skeind takes


def connections(series, more, fewer, experiment="connections"):
    return lambda r: r.get(experiment, series, more, "gbps") / r.get(experiment, series, fewer, "gbps")


def locks(sharers, outstanding):
    series = f"{outstanding} outstanding"
    return lambda r: r.get("lock", series, sharers) / r.get("lock", series, 1)


def sharing(one, other, experiment="sharing, 8 outstanding", threads=24):
    return lambda r: r.ratio(experiment, one, other, threads)


def growth(experiment, series, figure, most=32):
    return lambda r: r.get(experiment, series, most, figure) / r.get(experiment, series, 1, figure)


def mesh(series, x, figure="mrps"):
    return lambda r: r.get("mesh", series, x, figure)


def mirror(way, figure):
    return lambda r: r.ratio("mirror", f"{way}, mirror", f"{way}, all", 400, figure)


def threads(series, more, fewer=1):
    return lambda r: r.get("threads", series, more) / r.get("threads", series, fewer)


CLAIMS = (
    Claim("64 KiB READs, own queue pairs, 1,000 of 400: a miss of 40 ns", "falls from 400 on", least=0.9,
          here=connections(MISS.format(40), 1000, 400)),
    Claim("the same, of 200 ns", "(the same)", here=connections(MISS.format(200), 1000, 400)),
    Claim("the same, of 400 ns", "(the same)", most=0.8, here=connections(MISS.format(400), 1000, 400)),
    Claim("skeind, 1,000 connections of 400", "stable", least=0.97, most=1.03, here=connections("skeind", 1000, 400)),
    Claim("skeind to own queue pairs, 100 connections", "more",
          here=lambda r: r.ratio("connections", "skeind", MISS.format(400), 100, "gbps")),
    Claim("RaaS's threads to skeind's one, 1,000 connections", "(ours)", least=0.97, most=1.03,
          here=lambda r: r.ratio("connections", "RaaS's threads", "skeind", 1000, "gbps")),
    Claim("processors that skeind's thread is busy on, at 36 Gb/s", "(ours)", form="{:.2f}", most=0.5,
          here=lambda r: r.get("connections", "skeind", 1000, "skeind_busy")),
    Claim("3 threads of a queue pair by locks, to one each: 1 outstanding", "0.66x", most=0.95, here=locks(3, 1)),
    Claim("the same, 8 outstanding", "(the same)", most=0.7, here=locks(3, 8)),
    Claim("9 threads of a queue pair, to one each: 1 outstanding", "0.56x", most=0.6, here=locks(9, 1)),
    Claim("the same, 8 outstanding", "(the same)", here=locks(9, 8)),
    Claim("64 bytes, 24 threads: skeind to locks of 3", "more", here=sharing("skeind", "lock, 3")),
    Claim("the same, RaaS's threads", "more", here=sharing("RaaS's threads", "lock, 3")),
    Claim("the same, skeind to locks of 6", "more", here=sharing("skeind", "lock, 6")),
    Claim("the same, RaaS's threads", "more", here=sharing("RaaS's threads", "lock, 6")),
    Claim("64 KiB, 24 threads: skeind to locks of 6", "more", least=0.97, most=1.03,
          here=sharing("skeind", "lock, 6", "sharing, 64 KiB")),
    Claim("processors of 32 applications, of one's: own queue pairs, polling", "linear", least=30, most=34, form="{:.0f}x",
          here=growth("applications", "own, poll", "processors")),
    Claim("the same, of skeind's threads alone", "slow growth", form="{:.0f}x",
          here=growth("applications", "skeind", "skeind")),
    Claim("processors of 32 applications, skeind to own queue pairs, polling", "less", form="{:.3f}x", most=0.1,
          here=lambda r: r.ratio("applications", "skeind", "own, poll", 32, "processors")),
    Claim("the same, to own queue pairs, blocking", "less", least=1,
          here=lambda r: r.ratio("applications", "skeind", "own, block", 32, "processors")),
    Claim("RaaS's threads to skeind's one", "(ours)", least=1.1,
          here=lambda r: r.ratio("applications", "RaaS's threads", "skeind", 32, "processors")),
    Claim("memory of 32 applications, of one's: own queue pairs", "linear", form="{:.0f}x",
          here=growth("memory", "own", "megabytes")),
    Claim("the same, skeind", "slow growth", form="{:.1f}x", here=growth("memory", "skeind", "megabytes")),
    Claim("the same, with rings", "(ours)", form="{:.0f}x", here=growth("memory", "skeind, with rings", "megabytes")),
    Claim("10,000 processes: queue pairs of a host, own", "(ours)", form="{:,.0f}",
          here=mesh("own queue pairs", 50, "queue_pairs")),
    Claim("the same, skeind", "(ours)", form="{:,.0f}", here=mesh("skeind", 50, "queue_pairs")),
    Claim("million calls a second of a host, at most: own queue pairs", "(ours)", form="{:.2f}", least=3,
          here=mesh("own queue pairs", PEAK)),
    Claim("the same, skeind", "(ours)", form="{:.2f}", most=0.4, here=mesh("skeind", PEAK)),
    Claim("the same, skeind, lean", "(ours)", form="{:.2f}", here=mesh("skeind, lean", PEAK)),
    Claim("the same, RaaS's threads, 4 workers", "(ours)", form="{:.2f}", here=mesh("RaaS's threads, 4 workers", PEAK)),
    Claim("the same, 4 threads with some trunks each, lean", "(ours)", form="{:.2f}", here=mesh("4 threads, lean", PEAK)),
    Claim("p99 at 50,000 calls a second: own queue pairs", "(ours)", form="{:.0f} us",
          here=mesh("own queue pairs", 50, "p99_us")),
    Claim("the same, skeind", "(ours)", form="{:.0f} us", here=mesh("skeind", 50, "p99_us")),
    Claim("the same, skeind, lean", "(ours)", form="{:.0f} us", here=mesh("skeind, lean", 50, "p99_us")),
    Claim("the same, RaaS's threads, 4 workers", "(ours)", form="{:.0f} us",
          here=mesh("RaaS's threads, 4 workers", 50, "p99_us")),
    Claim("the same, 4 threads, lean", "(ours)", form="{:.0f} us", here=mesh("4 threads, lean", 50, "p99_us")),
    Claim("calls of 4 threads with some trunks each, of one's", "(ours)", least=3, here=threads("each with some trunks", 4)),
    Claim("calls of 16 such, of one's", "(ours)", here=threads("each with some trunks", 16)),
    Claim("calls of 4 workers and a poller, of 1 worker's", "(ours)", most=3, here=threads("workers, a poller", 4)),
    Claim("one host that stands for all, to all: rate, own queue pairs", "1", least=0.95, most=1.05,
          here=mirror("own queue pairs", "mrps")),
    Claim("the same, skeind", "1", least=0.95, most=1.05, here=mirror("skeind", "mrps")),
    Claim("the same, p99, skeind", "1", least=0.85, most=1.15, here=mirror("skeind", "p99_us")),
)  # fmt: skip
