"""What FLOCK's thesis says, beside what the model does."""

import statistics

from claims import Claim

SHARING = "sharing, 8 outstanding"
ONE = "sharing, 1 outstanding"


def best_other(results, threads):
    others = ("one each", "spinlock, 2", "spinlock, 4")
    return results.get(SHARING, "FLOCK", threads) / max(results.get(SHARING, other, threads) for other in others)


def largest_gain(results, base):
    runs = results.series("large payloads")
    return max(run["mrps"] / results.get("large payloads", base, x) for x, run in runs["scheduled"])


def growth(results, fewer, more):
    return results.get(ONE, "FLOCK", more) / results.get(ONE, "FLOCK", fewer) - 1


def coalescing(outstanding):
    return lambda r: r.ratio("coalescing", "on", "off", outstanding)


def degree(outstanding):
    return lambda r: r.get("coalescing", "on", outstanding, "requests_per_message")


def clients(series):
    return lambda r: r.get("clients", series, 10005) / r.get("clients", series, 391)


def link_gains(results, other):
    """What one queue pair makes of the rate of `other`, in each run where one core polls all that a process has."""
    runs = [run for run in results.runs() if run[0].startswith("link, ") and run[1] == "1"]
    return sorted(results.ratio(experiment, "1", other, x) for experiment, _, x in runs)


def link_gain(other, choose):
    def figure(results):
        gains = link_gains(results, other)
        if not gains:
            raise KeyError(other)
        return choose(gains)

    return figure


CLAIMS = (
    Claim("READ, 176 to 704 queue pairs: lowest of the peak", "the peak", least=0.8,
          here=lambda r: r.get("reads", "READ", 176) / r.get("reads", "READ", 704)),
    Claim("READ, 1,408 queue pairs, of 704", "sharp drop", most=0.6,
          here=lambda r: r.get("reads", "READ", 1408) / r.get("reads", "READ", 704)),
    Claim("READ, 5,632 queue pairs, of 704", "lower still", most=0.5,
          here=lambda r: r.get("reads", "READ", 5632) / r.get("reads", "READ", 704)),
    Claim("FLOCK to one queue pair each, 8 threads", "similar", least=0.95,
          here=lambda r: r.ratio(SHARING, "FLOCK", "one each", 8)),
    Claim("the same, 32 threads", ">= 1.62x", least=1.5, here=lambda r: r.ratio(SHARING, "FLOCK", "one each", 32)),
    Claim("the same, 48 threads", ">= 2.33x", least=2.1, here=lambda r: r.ratio(SHARING, "FLOCK", "one each", 48)),
    Claim("FLOCK to the best of the others, 32 threads", ">= 1.62x", least=1.5, here=lambda r: best_other(r, 32)),
    Claim("the same, 48 threads", ">= 2.33x", least=1.8, here=lambda r: best_other(r, 48)),
    Claim("spinlock (2 threads) to one each, 32 threads", "similar", least=0.9, most=1.1,
          here=lambda r: r.ratio(SHARING, "spinlock, 2", "one each", 32)),
    Claim("FLOCK's p99 below one each's, 32 threads", "27 %", form="{:.0%}", least=0,
          here=lambda r: 1 - r.ratio(SHARING, "FLOCK", "one each", 32, "p99_us")),
    Claim("the same, 48 threads", "49 %", form="{:.0%}", least=0.2,
          here=lambda r: 1 - r.ratio(SHARING, "FLOCK", "one each", 48, "p99_us")),
    Claim("coalescing, 1 outstanding", "1.4x", least=1.3, here=coalescing(1)),
    Claim("coalescing, 4 outstanding", "1.7x", least=1.5, here=coalescing(4)),
    Claim("coalescing, 8 outstanding", "1.7x", least=1.5, here=coalescing(8)),
    Claim("requests in a message, 1 outstanding", "1.56", form="{:.2f}", least=1.3, here=degree(1)),
    Claim("requests in a message, 4 outstanding", "about 1.7", form="{:.2f}", least=1.2, here=degree(4)),
    Claim("requests in a message, 8 outstanding", "about 2", form="{:.2f}", least=1.2, here=degree(8)),
    Claim("fewer doorbells of the server, 1 outstanding", "36 %", form="{:.0%}", least=0.3,
          here=lambda r: 1 - 1 / r.get("coalescing", "on", 1, "requests_per_response")),
    Claim("FLOCK, 1 outstanding, from 16 to 32 threads", "+25 %", form="{:+.0%}",
          here=lambda r: growth(r, 16, 32)),
    Claim("the same, from 32 to 48", "+47 %", form="{:+.0%}", here=lambda r: growth(r, 32, 48)),
    Claim("thread scheduler to two threads a queue pair, at best", "up to 1.5x", least=1.25,
          here=lambda r: largest_gain(r, "two a queue pair")),
    Claim("the same, to the same queue pairs in turn", "not said", least=1.05,
          here=lambda r: largest_gain(r, "in turn")),
    Claim("1 thread, 1 queue pair: 368 processes to 46", "saturated at 46",
          here=lambda r: r.get("processes", "1 thread, 1 queue pair", 368)
          / r.get("processes", "1 thread, 1 queue pair", 46)),
    Claim("2 threads on 1 queue pair to 2, 368 processes", "1.1x to 1.3x", least=1.0,
          here=lambda r: r.ratio("processes", "2 threads, 1 queue pair", "2 threads, 2 queue pairs", 368)),
    Claim("the same, to 2 without coalescing of responses", "(the same)", least=1.3,
          here=lambda r: r.ratio("processes", "2 threads, 1 queue pair", "2 threads, 2 queue pairs, plain", 368)),
    Claim("10,005 clients to 391: FLOCK, threads of 23 processes", "flat (ours)", least=0.9,
          here=clients("FLOCK, threads")),
    Claim("the same: one queue pair each", "collapses (ours)", most=0.6, here=clients("one each")),
    Claim("the same: processes of one thread, in turns", "flat (ours)", least=0.9, most=1.1,
          here=clients("in turns, processes")),
    Claim("a link of one queue pair to one of four, polled by one core: median of all runs", "(ours)", least=1.1,
          here=link_gain("4", statistics.median)),
    Claim("the same, in the worst (16 threads, 1 outstanding)", "(ours)", least=0.7, here=link_gain("4", min)),
    Claim("the same, to one of two: median", "(ours)", here=link_gain("2", statistics.median)),
    Claim("the same, in the worst", "(ours)", here=link_gain("2", min)),
)  # fmt: skip
