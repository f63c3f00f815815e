"""The claims of FLOCK's thesis, as figures of the model."""

import statistics

from harness.claims import Claim, NoPoint

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


def over_ud(outstanding, threads, figure="mrps"):
    return lambda r: r.ratio(f"sharing, {outstanding} outstanding", "FLOCK", "UD", threads, figure)


def ud_over(outstanding, threads, figure):
    return lambda r: r.ratio(f"sharing, {outstanding} outstanding", "UD", "FLOCK", threads, figure)


def range_over_ud(choose):
    """From eight threads on, with one request outstanding."""
    return lambda r: choose(over_ud(1, threads)(r) for threads in (8, 16, 24, 32, 40, 48))


def ud_growth(outstanding, fewer, more):
    return lambda r: (r.get(f"sharing, {outstanding} outstanding", "UD", more)
                      / r.get(f"sharing, {outstanding} outstanding", "UD", fewer))


def ud_eight_to_one(threads):
    return lambda r: r.get(SHARING, "UD", threads) / r.get(ONE, "UD", threads)


def index_over_ud(outstanding, threads, figure="mrps"):
    return lambda r: r.ratio(f"index, {outstanding} outstanding", "FLOCK", "UD", threads, figure)


def index_range(choose, outstanding, counts):
    return lambda r: choose(index_over_ud(outstanding, threads)(r) for threads in counts)


def over_fasst(mix, threads, figure="mrps"):
    return lambda r: r.ratio(mix, "FlockTX", "FaSST", threads, figure)


def processes_over_ud(figure="mrps"):
    return lambda r: r.ratio("processes", "1 thread, 1 queue pair", "UD, 1 thread", 368, figure)


def over_ud_with(lines, outstanding):
    """With 32 threads, if a core of eRPC's waits for so many hundredths of a line for each datagram."""
    return lambda r: (r.get(f"sharing, {outstanding} outstanding", "FLOCK", 32)
                      / r.get("UD, lines", f"{outstanding} outstanding", lines))


def lost(series, figure):
    """A datagram in 1,000, to one in a million."""
    return lambda r: r.get("UD, loss", series, 1000, figure) / r.get("UD, loss", series, 1, figure)


def link_gains(results, other):
    """The rate of one queue pair to that of `other`, in each run where one core polls all that a process has."""
    runs = [run for run in results.runs() if run[0].startswith("link, ") and run[1] == "1"]
    return sorted(results.ratio(experiment, "1", other, x) for experiment, _, x in runs)


def link_gain(other, choose):
    def figure(results):
        gains = link_gains(results, other)
        if not gains:
            raise NoPoint(other)
        return choose(gains)

    return figure


CLAIMS = (
    Claim("READ, 176 to 704 queue pairs: lowest of the peak", "the peak", least=0.8,
          here=lambda r: r.get("reads", "READ", 176) / r.get("reads", "READ", 704)),
    Claim("READ, 1,408 queue pairs, of 704", "sharp drop", most=0.6,
          here=lambda r: r.get("reads", "READ", 1408) / r.get("reads", "READ", 704)),
    Claim("READ, 5,632 queue pairs, of 704", "lower still", most=0.5,
          here=lambda r: r.get("reads", "READ", 5632) / r.get("reads", "READ", 704)),
    Claim("READ at its best to RPCs on UD, 352 senders", "up to 2x",
          here=lambda r: max(r.get("reads", "READ", x) for x in (176, 352, 704)) / r.get("reads", "UD RPC", 352)),
    Claim("FLOCK to eRPC (UD), 1 outstanding, 1 thread", "comparable", here=over_ud(1, 1)),
    Claim("the same, 4 threads", "comparable", here=over_ud(1, 4)),
    Claim("the same, from 8 threads on: the least", "1.25x", here=range_over_ud(min)),
    Claim("the same: the most", "3.4x", here=range_over_ud(max)),
    Claim("eRPC, 1 outstanding: 32 threads to 16", "saturated at 16", here=ud_growth(1, 16, 32)),
    Claim("eRPC's median to FLOCK's, 1 outstanding, 32 threads", "2x", here=ud_over(1, 32, "p50_us")),
    Claim("its p99 to FLOCK's", "1.5x", here=ud_over(1, 32, "p99_us")),
    Claim("FLOCK to eRPC, 8 outstanding, 8 threads", "(a plot)", least=1.2, here=over_ud(8, 8)),
    Claim("the same, 32 threads", "(a plot)", least=1.5, here=over_ud(8, 32)),
    Claim("the same, 48 threads", "(a plot)", least=1.5, here=over_ud(8, 48)),
    Claim("eRPC, 8 outstanding: 48 threads to 8", "no more from 8 on", least=0.8, most=1.1, here=ud_growth(8, 8, 48)),
    Claim("eRPC, 32 threads: 8 outstanding to 1", "similar", here=ud_eight_to_one(32)),
    Claim("the same, 48 threads", "similar", here=ud_eight_to_one(48)),
    Claim("eRPC's median to FLOCK's, 8 outstanding, 32 threads", "2.9x", least=1.5, here=ud_over(8, 32, "p50_us")),
    Claim("the same, 48 threads", "3.9x", least=1.5, here=ud_over(8, 48, "p50_us")),
    Claim("FLOCK to eRPC, 32 threads, 8 outstanding, if eRPC waits for one line, not two", "(ours)",
          here=over_ud_with(100, 8)),
    Claim("the same, for a quarter of a line", "(ours)", here=over_ud_with(25, 8)),
    Claim("the same with 1 outstanding, for one line", "(ours)", here=over_ud_with(100, 1)),
    Claim("eRPC, 32 threads, 8 outstanding: loss of 1 in 1,000 to 1 in a million", "(ours)",
          here=lost("32 threads, 8 outstanding", "mrps")),
    Claim("the same, 4 threads, 1 outstanding", "(ours)", here=lost("4 threads, 1 outstanding", "mrps")),
    Claim("FLOCK to eRPC, 368 processes of one thread", ">= 1.74x", here=processes_over_ud()),
    Claim("FLOCK's median below eRPC's there", "51 %", form="{:.0%}", here=lambda r: 1 - processes_over_ud("p50_us")(r)),
    Claim("its p99", "25 %", form="{:.0%}", here=lambda r: 1 - processes_over_ud("p99_us")(r)),
    Claim("FLOCK to one queue pair each, 8 threads", "similar", least=0.95,
          here=lambda r: r.ratio(SHARING, "FLOCK", "one each", 8)),
    Claim("the same, 32 threads", ">= 1.62x", least=1.5, here=lambda r: r.ratio(SHARING, "FLOCK", "one each", 32)),
    Claim("the same, 48 threads", ">= 2.33x", least=2.1, here=lambda r: r.ratio(SHARING, "FLOCK", "one each", 48)),
    Claim("FLOCK to the best of the others, 32 threads", ">= 1.62x", least=1.5, here=lambda r: best_other(r, 32)),
    Claim("the same, 48 threads", ">= 2.33x", least=1.8, here=lambda r: best_other(r, 48)),
    Claim("spinlock (2 threads) to one each, 32 threads", "similar", least=0.9, most=1.1,
          here=lambda r: r.ratio(SHARING, "spinlock, 2", "one each", 32)),
    Claim("FLOCK's p99 below one each's, 32 threads", "27 %", form="{:.0%}",
          here=lambda r: 1 - r.ratio(SHARING, "FLOCK", "one each", 32, "p99_us")),
    Claim("the same, 48 threads", "49 %", form="{:.0%}",
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
    Claim("an index, FLOCK to eRPC, 1 outstanding, to 8 threads: the least", "similar or a little less",
          here=index_range(min, 1, (1, 2, 4, 8))),
    Claim("the same: the most", "similar", here=index_range(max, 1, (1, 2, 4, 8))),
    Claim("the same, 16 threads", "a drop", here=index_over_ud(1, 16)),
    Claim("the same, 32 threads", "a little more", here=index_over_ud(1, 32)),
    Claim("an index, 8 outstanding, 8 threads", "more", least=1.0, here=index_over_ud(8, 8)),
    Claim("the same, 16 threads", "similar", here=index_over_ud(8, 16)),
    Claim("the same, 32 threads", "1.4x", least=1.1, here=index_over_ud(8, 32)),
    Claim("FLOCK's median there, of eRPC's", "lower", most=1.0, here=index_over_ud(8, 32, "p50_us")),
    Claim("its p99", "lower", here=index_over_ud(8, 32, "p99_us")),
    Claim("TATP, FlockTX to FaSST, 1 thread", "a little less", least=1.0, here=over_fasst("TATP", 1)),
    Claim("the same, 4 threads", "a little less", here=over_fasst("TATP", 4)),
    Claim("the same, 8 threads", "1.9x", least=1.52, most=2.28, here=over_fasst("TATP", 8)),
    Claim("the same, 16 threads", "2.4x", least=1.92, most=2.88, here=over_fasst("TATP", 16)),
    Claim("Smallbank, FlockTX to FaSST, 2 threads", "similar", here=over_fasst("Smallbank", 2)),
    Claim("the same, 4 threads", "up to 1.24x", here=over_fasst("Smallbank", 4)),
    Claim("the same, 8 threads", "up to 1.88x", least=1.5, most=2.26, here=over_fasst("Smallbank", 8)),
    Claim("FaSST's p99 to FlockTX's, Smallbank, 1 thread", "1.41x", least=1.13, most=1.7,
          here=lambda r: 1 / over_fasst("Smallbank", 1, "p99_us")(r)),
    Claim("FaSST, TATP: 8 threads to 4", "saturated at 4",
          here=lambda r: r.get("TATP", "FaSST", 8) / r.get("TATP", "FaSST", 4)),
    Claim("FlockTX to FaSST, TATP, 8 threads, if FaSST logs in a phase of its own", "(ours)",
          here=lambda r: r.get("TATP", "FlockTX", 8) / r.get("TATP", "FaSST, log apart", 8)),
    Claim("the same, Smallbank", "(ours)",
          here=lambda r: r.get("Smallbank", "FlockTX", 8) / r.get("Smallbank", "FaSST, log apart", 8)),
    Claim("FlockTX, TATP, 8 threads: one-sided validation to calls", "(ours)",
          here=lambda r: r.ratio("TATP", "FlockTX", "FlockTX, all by calls", 8)),
    Claim("the same, Smallbank", "(ours)", here=lambda r: r.ratio("Smallbank", "FlockTX", "FlockTX, all by calls", 8)),
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
