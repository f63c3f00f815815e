"""What SC'21 says of applications on its durable RPCs (5.3 to 5.6), beside what the simulated fabric does. Each is a row of
the table, and with bounds a test."""

import durable_claims as durable
from durable_claims import BY_SEND, BY_WRITE, SENDERS, WRITERS, percent
from harness.claims import Claim, NoPoint

YCSB = "ABCDEF"
GRAPHS = ("wordassociation-2011", "enron", "dblp-2010", "small")
SCAN_AHEAD, READ_AHEAD = 10, 8
KIB = 1024
RESTART_MS = 300  # Costs::restart
AVAILABILITIES = (0.9, 0.99, 0.999, 0.9999)
# The traditional RPC that each is held against.
TRADITIONAL = {**dict.fromkeys(BY_WRITE, "FaRM"), **dict.fromkeys(BY_SEND, "DaRPC")}


class Results(durable.Results):
    """The runs of bench_durable --applications, by what was asked."""

    defaults = {
        "experiment": "ycsb", "object_bytes": KIB, "load": "light", "read_percent": 50, "batch": 1, "senders": 1,
        "application": "", "ahead": 1, "beside": "", "media": 1,
    }  # fmt: skip

    def mean(self, exchange, asked):
        """Of the application's operations, us."""
        return self.latency(exchange, "mean_us", "operation", **asked)

    def seconds(self, exchange, asked):
        return self.run(exchange, **asked)["seconds"]

    def waits_ms(self, exchange, asked):
        return self.run(exchange, **asked)["waits_ms"]

    def parts(self, exchange, asked):
        """Of a request's mean latency, us: on the sender's core, on the receiver's, and the rest."""
        run = self.run(exchange, **asked)
        sender, receiver = run["sender_us"], run["receiver_us"]
        return {"sender": sender, "network": run["all"]["mean_us"] - sender - receiver, "receiver": receiver}

    def total_time(self, exchange, availability, asked):
        """Of 1e9 requests, s: with crashes as often as a server may have them that is up for that part of the time."""
        run = self.run(exchange, **asked)
        works = 1e6 / run["kops"]
        crashes = works / (RESTART_MS / 1e3 * availability / (1 - availability))
        return works + crashes * run["waits_ms"] / 1e3

    def crashes_alone(self, exchange, availability, asked):
        """Total time to the traditional one's, if both were as fast without crashes."""
        between = RESTART_MS * availability / (1 - availability)
        ours, theirs = (1 + self.waits_ms(one, asked) / between for one in (exchange, TRADITIONAL[exchange]))
        return ours / theirs


def ycsb(workload, **asked):
    return {"experiment": "ycsb", "object_bytes": 4 * KIB, "application": workload, **asked}


def pagerank(graph, **asked):
    return {"experiment": "pagerank", "object_bytes": 4 * KIB, "application": graph, **asked}


def recovery(**asked):
    return {"experiment": "recovery", **asked}


def beside(what=""):
    return {"experiment": "beside", "object_bytes": 64 * KIB, "beside": what}


def below(figure, ours, others, asked, theirs=None):
    """By how much a figure of `ours` is below the lowest of the others', which may be asked something else."""
    theirs = asked if theirs is None else theirs

    def here(results):
        best = min(figure(results, other, theirs) for other in durable.there(results, others, theirs))
        return 1 - max(figure(results, one, asked) for one in ours) / best

    return here


def in_all(rows):
    """The least of those that were run."""

    def here(results):
        found = []
        for row in rows:
            try:
                found.append(row(results))
            except NoPoint:
                continue
        if not found:
            raise NoPoint(rows)
        return min(found)

    return here


def graphs_below(ours, others, asked, theirs=None):
    theirs = asked if theirs is None else theirs
    return in_all([below(Results.seconds, ours, others, pagerank(graph, **asked), pagerank(graph, **theirs)) for graph in GRAPHS])


def slower(exchange, what):
    return lambda r: r.mean(exchange, beside(what)) / r.mean(exchange, beside())


def part(name, exchange):
    return lambda r: r.parts(exchange, ycsb("A"))[name] / r.latency(exchange, "mean_us", **ycsb("A"))


def forgotten(results):
    return sum(run.get("forgotten", 0) for run in results.runs())


def below_mean(what, paper, ours, others, asked, theirs=None, **bounds):
    return percent(what, paper, below(Results.mean, ours, others, asked, theirs), **bounds)


HEAVY = {"load": "heavy"}
E_AHEAD = ycsb("E", ahead=SCAN_AHEAD)
E_AHEAD_HEAVY = ycsb("E", ahead=SCAN_AHEAD, **HEAVY)
AHEAD = {"ahead": READ_AHEAD}
AHEAD_HEAVY = {**AHEAD, **HEAVY}
ALL_WAITING = (*WRITERS, *SENDERS, "FaSST")
CLAIMS = (
    below_mean("YCSB A, heavy: wflush's mean below the best that waits", "up to 50 %", ("wflush",), ALL_WAITING, ycsb("A", **HEAVY), least=0.4),
    below_mean("the same: w-rflush", "up to 50 %", ("w-rflush",), ALL_WAITING, ycsb("A", **HEAVY), least=0.4),
    below_mean("the same: sflush, to DaRPC", "23 %", ("sflush",), SENDERS, ycsb("A", **HEAVY), least=0.4),
    below_mean("the same: s-rflush, to DaRPC", "7 %", ("s-rflush",), SENDERS, ycsb("A", **HEAVY), least=0.4),
    below_mean("YCSB A, light: wflush", "up to 50 %", ("wflush",), ALL_WAITING, ycsb("A"), least=0.05),
    below_mean("the same: w-rflush", "up to 50 %", ("w-rflush",), ALL_WAITING, ycsb("A")),
    below_mean("the same: sflush, to DaRPC", "23 %", ("sflush",), SENDERS, ycsb("A"), least=0.05),
    below_mean("YCSB E, heavy: wflush, which goes on, below the best that waits for each reply", "up to 50 %", ("wflush",), ALL_WAITING,
               E_AHEAD_HEAVY, ycsb("E", **HEAVY), least=0.4),
    below_mean("the same: w-rflush", "up to 50 %", ("w-rflush",), ALL_WAITING, E_AHEAD_HEAVY, ycsb("E", **HEAVY), least=0.4),
    below_mean("YCSB E, light: wflush, which goes on", "up to 50 %", ("wflush",), ALL_WAITING, E_AHEAD, ycsb("E"), least=0.4),
    below_mean("the same: w-rflush", "up to 50 %", ("w-rflush",), ALL_WAITING, E_AHEAD, ycsb("E"), least=0.4),
    below_mean("YCSB E, heavy: wflush, if the others go on as well", "(ours)", ("wflush",), ALL_WAITING, E_AHEAD_HEAVY, least=-0.1),
    below_mean("YCSB E, light: the same", "(ours)", ("wflush",), ALL_WAITING, E_AHEAD),
    below_mean("YCSB E, heavy: wflush, if it waits for each read, too", "(ours)", ("wflush",), ALL_WAITING, ycsb("E", **HEAVY), least=-0.1),
    *(below_mean(f"YCSB {one}, heavy: wflush", "moderate", ("wflush",), ALL_WAITING, ycsb(one, **HEAVY), least=-0.05) for one in "BCD"),
    below_mean("YCSB F, heavy: wflush", "(not named)", ("wflush",), ALL_WAITING, ycsb("F", **HEAVY), least=0.2),
    *(below_mean(f"YCSB {one}, light: wflush", "moderate", ("wflush",), ALL_WAITING, ycsb(one)) for one in "BCDF"),
    percent("PageRank, least of the graphs, light: wflush, which goes on, below the best that waits for each reply", "8 % to 38 %",
            graphs_below(("wflush",), ALL_WAITING, AHEAD, {}), least=0.08),
    percent("the same: w-rflush", "8 % to 38 %", graphs_below(("w-rflush",), ALL_WAITING, AHEAD, {}), least=0.08),
    percent("the same: sflush, to DaRPC", "30 %", graphs_below(("sflush",), SENDERS, AHEAD, {}), least=0.08),
    percent("the same: s-rflush, to DaRPC", "8 %", graphs_below(("s-rflush",), SENDERS, AHEAD, {}), least=0.08),
    percent("PageRank, heavy: wflush, which goes on", "8 % to 38 %", graphs_below(("wflush",), ALL_WAITING, AHEAD_HEAVY, HEAVY), least=0.08),
    percent("PageRank, heavy: wflush, if the others go on as well", "(ours)", graphs_below(("wflush",), ALL_WAITING, AHEAD_HEAVY)),
    percent("PageRank, light: the same", "(ours)", graphs_below(("wflush",), ALL_WAITING, AHEAD)),
    percent("PageRank, light: wflush, if it waits for each read, too", "(ours)", graphs_below(("wflush",), ALL_WAITING, {})),
    Claim("requests known to be safe that crashes have lost, of all runs", "0", forgotten, form="{:.0f}", least=0, most=0),
    percent("wait for a crashed receiver, heavy: lower, wflush", "much lower",
            below(Results.waits_ms, ("wflush",), ("FaRM",), recovery(**HEAVY)), least=0.1),
    percent("the same, 5 % reads", "more", below(Results.waits_ms, ("wflush",), ("FaRM",), recovery(read_percent=5, **HEAVY)), least=0.1),
    percent("the same, 95 % reads", "less", below(Results.waits_ms, ("wflush",), ("FaRM",), recovery(read_percent=95, **HEAVY)), least=0.1),
    percent("wait for a crashed receiver, light: lower, wflush", "much lower",
            below(Results.waits_ms, ("wflush",), ("FaRM",), recovery())),
    Claim("1e9 requests, 90 % available, heavy, 50 % reads: wflush's time to FaRM's, by crashes alone", "below 1",
          lambda r: r.crashes_alone("wflush", 0.9, recovery(**HEAVY)), most=1),
    Claim("the same, 99.99 % available", "nearer to 1", lambda r: r.crashes_alone("wflush", 0.9999, recovery(**HEAVY)), most=1),
    *(below_mean(f"mean, light, {name}: wflush", "less", ("wflush",), WRITERS, {"experiment": "object sizes", "object_bytes": count},
                 least=-0.1) for count, name in ((64, "64 B"), (4 * KIB, "4 KiB"), (64 * KIB, "64 KiB"))),
    Claim("light, from 64 B to 4 KiB: wflush's mean grows", "slightly", lambda r:
          r.mean("wflush", {"experiment": "object sizes", "object_bytes": 4 * KIB})
          / r.mean("wflush", {"experiment": "object sizes", "object_bytes": 64}), least=1),
    Claim("from 4 KiB to 64 KiB", "significantly", lambda r:
          r.mean("wflush", {"experiment": "object sizes", "object_bytes": 64 * KIB})
          / r.mean("wflush", {"experiment": "object sizes", "object_bytes": 4 * KIB}), least=2),
    below_mean("busy network, 64 KiB: w-rflush's mean below the best", "43 %", ("w-rflush",), WRITERS, beside("network")),
    below_mean("the same: wflush", "less than that", ("wflush",), WRITERS, beside("network")),
    below_mean("the same: s-rflush, to DaRPC", "45 %", ("s-rflush",), SENDERS, beside("network")),
    *(Claim(f"busy {what}: {one}'s mean, to an idle one", "significant", slower(one, what), least=1.2)
      for what in ("receiver", "sender") for one in ("wflush", "FaRM")),
    percent("YCSB A, light: the network's part, FaRM", "most", part("network", "FaRM")),
    percent("the same, wflush", "most", part("network", "wflush")),
    percent("the receiver's software, FaRM", "(not in the text)", part("receiver", "FaRM")),
    percent("the receiver's software, wflush", "all software: 7 %", part("receiver", "wflush")),
)  # fmt: skip
