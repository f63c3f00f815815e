"""What SC'21 says of its durable RPCs (5.2, 5.5), beside what the simulated fabric does. Each is a row of the table, and
with bounds a test."""

from harness.claims import Claim, NoPoint, Points

DURABLE = ("wflush", "sflush", "w-rflush", "s-rflush")
BY_WRITE = ("wflush", "w-rflush")
BY_SEND = ("sflush", "s-rflush")
# What the paper compares with those that WRITE, and with those that SEND; all wait for the reply.
WRITERS = ("FaRM", "L5", "RFP", "Octopus", "ScaleRPC")
SENDERS = ("DaRPC",)
WAITING = (*WRITERS, *SENDERS, "FaSST")
# Persists nothing: not one of them, but what it costs to be durable.
PLAIN = "core/rpc"
EXCHANGES = (*DURABLE, *WAITING, PLAIN)

DEFAULTS = {"experiment": "sizes", "object_bytes": 1024, "load": "heavy", "read_percent": 50, "batch": 1, "senders": 1}


class Results:
    """The runs of bench_durable, by what was asked."""

    defaults = DEFAULTS

    def __init__(self, results):
        self._runs = Points({self._key(run): run for run in results["runs"]})

    def _key(self, run):
        return tuple({**self.defaults, **run}[name] for name in (*self.defaults, "exchange"))

    def runs(self):
        return self._runs.values()

    def run(self, exchange, **asked):
        return self._runs[self._key({**asked, "exchange": exchange})]

    def has(self, exchange, **asked):
        return self._key({**asked, "exchange": exchange}) in self._runs

    def kops(self, exchange, **asked):
        return self.run(exchange, **asked)["kops"]

    def latency(self, exchange, figure, of="all", **asked):
        return self.run(exchange, **asked)[of][figure]

    def settings(self, experiment):
        """[(what was asked, {exchange: run})] in the order they were run."""
        found = {}
        for run in self._runs.values():
            if {**self.defaults, **run}["experiment"] == experiment:
                asked = tuple((name, {**self.defaults, **run}[name]) for name in self.defaults)
                found.setdefault(asked, {})[run["exchange"]] = run
        return [(dict(asked), runs) for asked, runs in found.items()]


def there(results, exchanges, asked):
    """Those of the exchanges that were run so; a claim about none is no claim (NoPoint)."""
    found = [exchange for exchange in exchanges if results.has(exchange, **asked)]
    if not found:
        raise NoPoint(asked)
    return found


def gain(ours, others, **asked):
    """Throughput of `ours` to the best of the others: the lower of ours, if they are several."""

    def figure(results):
        best = max(results.kops(other, **asked) for other in there(results, others, asked))
        return min(results.kops(one, **asked) for one in ours) / best

    return figure


def lower(ours, others, figure_name, of="all", **asked):
    """By how much a latency of `ours` is below the lowest of the others'."""

    def figure(results):
        best = min(results.latency(other, figure_name, of, **asked) for other in there(results, others, asked))
        return 1 - max(results.latency(one, figure_name, of, **asked) for one in ours) / best

    return figure


def percent(what, paper, here, **bounds):
    return Claim(what, paper, here, form="{:+.0%}", **bounds)


def more(ours, others, **asked):
    by_ratio = gain(ours, others, **asked)
    return lambda results: by_ratio(results) - 1


def growth(exchange, load):
    return lambda r: (
        r.latency(exchange, "mean_us", experiment="senders", senders=16, load=load)
        / r.latency(exchange, "mean_us", load=load)
    )


KIB = 1024
CLAIMS = (
    Claim("heavy, 1 KiB: wflush to the best that waits for its reply", ">= 1.58x", gain(("wflush",), WAITING), least=1.58),
    Claim("the same: w-rflush", ">= 1.58x", gain(("w-rflush",), WAITING), least=1.58),
    percent("heavy, 32 B: both by WRITE", "+58 % to +85 %", more(BY_WRITE, WRITERS, object_bytes=32), least=0.58),
    percent("heavy, 1 KiB", "(the same)", more(BY_WRITE, WRITERS), least=0.58),
    percent("heavy, 64 KiB", "(the same)", more(BY_WRITE, WRITERS, object_bytes=64 * KIB), least=0.4),
    percent("heavy, 64 KiB, wflush alone", "(the same)", more(("wflush",), WRITERS, object_bytes=64 * KIB), least=0.5),
    percent("heavy, 32 B: both by SEND, to DaRPC", "+43 % to +69 %", more(BY_SEND, SENDERS, object_bytes=32), least=0.43),
    percent("heavy, 1 KiB", "(the same)", more(BY_SEND, SENDERS), least=0.43),
    percent("heavy, 64 KiB", "(the same)", more(BY_SEND, SENDERS, object_bytes=64 * KIB), least=0.4),
    percent("light, 32 B: wflush", "moderate", more(("wflush",), WRITERS, object_bytes=32, load="light"), least=-0.1),
    percent("light, 1 KiB: wflush", "moderate", more(("wflush",), WRITERS, load="light"), least=-0.1),
    percent("light, 1 KiB: w-rflush", "moderate", more(("w-rflush",), WRITERS, load="light")),
    percent("light, 64 KiB: wflush", "+20 % to +90 %", more(("wflush",), WRITERS, object_bytes=64 * KIB, load="light"), least=0.1),
    percent("light, 64 KiB: w-rflush", "+20 % to +90 %", more(("w-rflush",), WRITERS, object_bytes=64 * KIB, load="light")),
    percent("light, 64 KiB: sflush, to DaRPC", "+42 %", more(("sflush",), SENDERS, object_bytes=64 * KIB, load="light"), least=0.1),
    percent("p99 of writes, heavy, 1 KiB: lower, wflush", "49 %", lower(("wflush",), WRITERS, "p99_us", "write"), least=0.4),
    percent("the same, w-rflush", "49 %", lower(("w-rflush",), WRITERS, "p99_us", "write"), least=0.4),
    percent("p99 of writes, light, 1 KiB: wflush", "49 %", lower(("wflush",), WRITERS, "p99_us", "write", load="light"), least=0.1),
    percent("the same, w-rflush", "49 %", lower(("w-rflush",), WRITERS, "p99_us", "write", load="light")),
    percent("p99 of writes, light, 64 KiB: wflush", "24 %",
            lower(("wflush",), WRITERS, "p99_us", "write", object_bytes=64 * KIB, load="light"), least=0.24),
    percent("p99 of all operations, heavy, 1 KiB: wflush", "49 %", lower(("wflush",), WRITERS, "p99_us")),
    percent("p99 of all operations, light, 1 KiB: wflush", "49 %", lower(("wflush",), WRITERS, "p99_us", load="light")),
    percent("p99 of all operations, light, 64 KiB: wflush", "24 %",
            lower(("wflush",), WRITERS, "p99_us", object_bytes=64 * KIB, load="light")),
    percent("p99 of all operations, light, 1 KiB: sflush, to DaRPC", "10 %", lower(("sflush",), SENDERS, "p99_us", load="light")),
    percent("mean of all, heavy, 1 KiB, 5 % reads: lower, wflush", "63 % to 71 %",
            lower(("wflush",), WRITERS, "mean_us", experiment="reads", read_percent=5), least=0.63),
    percent("the same, 95 % reads", "similar", lower(("wflush",), WRITERS, "mean_us", experiment="reads", read_percent=95),
            least=0),
    Claim("mean, heavy, 16 senders to 1: wflush", "stable", growth("wflush", "heavy")),
    Claim("the same: FaRM", "slightly more", growth("FaRM", "heavy")),
    Claim("mean, light, 16 senders to 1: wflush", "stable", growth("wflush", "light"), most=1.2),
    percent("light, 1 KiB, 16 in a batch: wflush", "significant", more(("wflush",), WRITERS, experiment="batches", batch=16,
            load="light")),
)  # fmt: skip
