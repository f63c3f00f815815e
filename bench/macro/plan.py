"""What is measured: transports, loads, and which load over which transports, how often. Nothing but data."""

import dataclasses

from neighbours import COMPILERS, LOOPS, PINNED


@dataclasses.dataclass(frozen=True)
class Transport:
    """A way from a client to a server."""

    name: str
    title: str
    listen: str | None = "{address}:0"  # {folder}, {address}: the stage's. None: the server is in the client's process
    skein_client: bool = False
    skein_server: bool = False
    path: str | None = None  # what a Skein client must log; anything else is not a measurement but a failure
    wait_mode: str = "hybrid"
    tls: bool = False
    environment: tuple = ()  # of both ends besides: (name, value), such as LD_PRELOAD; {build}: the build directory
    rdma: bool = False  # whether the RDMA device must have counted packets
    ends: bool = True  # whether a server over it ends when it is told to
    before: bool = False  # whether its programs are those of the earlier build

    @property
    def needs_skein(self):
        return self.skein_client or self.skein_server


TCP = Transport("tcp", "TCP")
UNIX = Transport("unix", "UNIX socket", listen="unix:{folder}/socket")
IN_PROCESS = Transport("in-process", "in-process", listen=None)
SKEIN = Transport("skein", "Skein", skein_client=True, skein_server=True, path="shm")
SKEIN_BEFORE = dataclasses.replace(SKEIN, name="skein before", title="Skein, before", before=True)
SKEIN_BLOCK = dataclasses.replace(SKEIN, name="skein block", title="Skein, mode block", wait_mode="block")
HTTP2 = (("SKEIN_CALLS", "http2"),)
SKEIN_HTTP2 = dataclasses.replace(SKEIN, name="skein http2", title="Skein, HTTP/2", environment=HTTP2)

SAMPLED, TRACED = (
    dataclasses.replace(SKEIN, name=f"skein traced 1/{every}", title=title, environment=(("SKEIN_TRACE", str(every)),))
    for every, title in ((100, "Skein, one call of 100 traced"), (1, "Skein, every call traced"))
)
# The client compares what it measures itself with what it is told of its calls.
TOLD = dataclasses.replace(SKEIN, name="skein told", title="Skein, told of every call",
                           environment=(("BENCH_STAGES", "1"),))  # fmt: skip

FALLBACK = Transport("fallback", "Skein, plain server", skein_client=True, path="tcp: peer does not speak Skein")
TLS_TCP = Transport("tls tcp", "TLS", tls=True)
TLS_SKEIN = dataclasses.replace(SKEIN, name="tls skein", title="Skein, TLS", tls=True)
TLS_FALLBACK = dataclasses.replace(FALLBACK, name="tls fallback", title="Skein, plain TLS server", tls=True)

RSOCKETS_LIBRARY = "/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so"
# It has poll, and no epoll.
RSOCKETS_SETTINGS = (
    ("LD_PRELOAD", f"{{build}}/bench/macro/libbench_rsockets_preload.so {RSOCKETS_LIBRARY}"),
    ("GRPC_POLL_STRATEGY", "poll"),
)
# gRPC's server does not end over it: a thread is in poll for ever, and looks.
RSOCKETS = Transport("rsockets", "rsockets", environment=RSOCKETS_SETTINGS, rdma=True, ends=False)
SMC_SETTINGS = (("LD_PRELOAD", "{build}/bench/macro/libbench_smc_preload.so"),)
SMC_R = Transport("smc-r", "SMC-R", environment=SMC_SETTINGS, rdma=True)
SKEIN_RDMA = dataclasses.replace(SKEIN, name="skein rdma", title="Skein, RDMA", path="rdma:", rdma=True)

# Nobody here can mend them: a round that fails over one of these is left out and named, and no failure of the command.
FOREIGN = {RSOCKETS.name, SMC_R.name}

# What figures are divided by, where a load has been measured over it in the same round.
BASES = (TCP, UNIX, IN_PROCESS, TLS_TCP)

SOCKETS = (TCP, UNIX, SKEIN)
LOCAL = (TCP, UNIX, IN_PROCESS, SKEIN)
REMOTE = (TCP, RSOCKETS, SMC_R, SKEIN_RDMA)

KIB, MIB = 1 << 10, 1 << 20


def size_text(size):
    """65536 as '64 KiB'."""
    for unit, name in ((MIB, "MiB"), (KIB, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def count(number, noun):
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


@dataclasses.dataclass(frozen=True)
class Load:
    """What clients do."""

    api: str = "sync"  # gRPC's sync, async, callback or stream; or thrift, or thrift-nonblocking for its other server
    measure: str = "load"  # or idle: nothing, after a call on each channel; or first_call: one, of a new process
    size: int = 64  # bytes of a request and of its reply
    callers: int = 1
    channels: int = 1
    rate: int = 0  # calls a second, made when they are due; 0: each caller calls again when it has its reply
    beside: str = ""  # what else runs on the machine, as neighbours.beside() calls it
    large: int = 0  # bytes of one more caller's calls on the same channel, which do not count; 0: there is none
    quota: int = 0  # processor time that each end may have, in ms of every 100; 0: as much as there is

    @property
    def thrift(self):
        return self.api.startswith("thrift")

    @property
    def name(self):
        words = [self.api]
        if self.measure == "load":
            words.append(size_text(self.size))
            if not self.unbounded:
                words.append(count(self.callers, "stream" if self.api == "stream" else "caller"))
            if self.rate:
                words.append(f"{self.rate:,} calls/s")
        else:
            words.append(self.measure.replace("_", " "))
        if self.channels > 1:
            words.append(count(self.channels, "channel"))
        if self.large:
            words.append(f"beside {size_text(self.large)} calls")
        if self.beside:
            words.append(f"beside {self.beside}")
        if self.quota:
            words.append(f"quota {self.quota} of 100 ms")
        return ", ".join(words)

    @property
    def unbounded(self):
        """Whether as many calls are under way as it takes to keep the rate: no caller is a thread."""
        return self.rate > 0 and self.api in ("async", "callback")


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A load over some transports. They have their turns one right after the other, in each round in another order."""

    load: Load
    transports: tuple
    rounds: int
    bases: tuple = BASES
    together: bool = False  # whether its rounds follow each other; else they are scattered over the whole run

    @property
    def name(self):
        return f"{self.load.name}, processes in a row" if self.together else self.load.name


# Rounds of what is asked about by number, and of the points of a curve.
MANY, FEW = 11, 5

APIS = ("sync", "async", "callback")
CALLERS = (1, 4, 8, 16, 64, 256)
ASKED_CALLERS = (1, 8, 64, 256)
STREAMS = (1, 8, 64)
SIZES = (8, 64, 512, 4 * KIB, 32 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB)
ASKED_SIZES = (64, MIB, 16 * MIB)
CHANNELS = (1, 10, 100, 1000)
RATES = (1000, 2000, 4000, 8000, 16000, 32000)
ASKED_RATE = 4000
# How a pair of processes happens to fall out, and not what the machine did in the meantime.
IN_A_ROW = tuple(Scenario(Load(api), SOCKETS, 20, together=True) for api in ("sync", "callback"))
# Beside the default mode, what sleeping at once costs and saves.
ALSO_BLOCKING = (
    Load(), Load(callers=8), Load("callback"), Load("callback", callers=8), Load(size=MIB), Load("thrift"),
)  # fmt: skip
# Beside the default, `skein.calls` http2: the difference is the gain of calls below HTTP/2.
ALSO_HTTP2 = (
    *(Load(api, callers=callers) for api in APIS for callers in (1, 8, 64)),
    Load("stream"), Load("stream", callers=64), Load(size=MIB), Load(size=16 * MIB),
)  # fmt: skip


def _loads():
    """(load, transports, rounds); a load that several questions need comes several times."""
    for api in APIS:
        for callers in CALLERS:
            yield Load(api, callers=callers), LOCAL, MANY if callers in ASKED_CALLERS else FEW
    for streams in STREAMS:
        yield Load("stream", callers=streams), LOCAL, MANY
    for size in SIZES:
        yield Load(size=size), LOCAL, MANY if size in ASKED_SIZES else FEW
    yield Load("callback", size=MIB), LOCAL, MANY
    yield Load(large=16 * MIB), SOCKETS, MANY
    for channels in CHANNELS:
        yield Load("callback", callers=64, channels=channels), LOCAL, MANY if channels == 1 else FEW
    for rate in RATES:
        yield Load("callback", rate=rate), LOCAL, MANY if rate == ASKED_RATE else FEW
    yield Load(callers=8, rate=ASKED_RATE), LOCAL, MANY
    for api in ("sync", "callback"):
        yield Load(api, beside=PINNED), SOCKETS, MANY
    yield Load(measure="idle", channels=100), SOCKETS, 3
    for transports in ((TCP, SKEIN, FALLBACK), (TLS_TCP, TLS_SKEIN, TLS_FALLBACK)):
        yield Load(measure="first_call"), transports, 21
    for callers in (1, 8, 64):
        yield Load("thrift", callers=callers), SOCKETS, MANY
    yield Load("thrift", size=MIB), SOCKETS, MANY
    for callers in (1, 8):
        yield Load("thrift-nonblocking", callers=callers), SOCKETS, FEW
    yield Load("thrift", measure="idle"), SOCKETS, 3


def report():
    """All of it: each load once."""
    scenarios = {}
    for load, transports, rounds in _loads():
        extra = (SKEIN_HTTP2,) * (load in ALSO_HTTP2) + (SKEIN_BLOCK,) * (load in ALSO_BLOCKING)
        earlier = scenarios.get(load, Scenario(load, (), 0))
        merged = dict.fromkeys((*earlier.transports, *transports, *extra))
        scenarios[load] = Scenario(load, tuple(merged), max(rounds, earlier.rounds))
    return [*scenarios.values(), *IN_A_ROW]


def quick():
    """What a user wants to know of an own machine, within two minutes."""
    loads = (Load(), Load("callback", callers=8), Load(size=MIB), Load("thrift"))
    return [Scenario(load, SOCKETS, 9) for load in loads]


BUSY_LOADS = tuple(
    Load(api, callers=callers)
    for api, crowds in (
        ("sync", (1, 8, 64)),
        ("callback", (1, 8, 64)),
        ("thrift", (1, 8, 64)),
        ("thrift-nonblocking", (1, 8)),
    )
    for callers in crowds
)
QUOTAS = (30, 100)


def busy():
    """The promise that nothing is slower than over TCP, where others want the processors, too. Twenty minutes."""
    for load in BUSY_LOADS:
        for beside in ("", *LOOPS, COMPILERS):
            yield Scenario(dataclasses.replace(load, beside=beside), (TCP, SKEIN), 7, bases=(TCP,))
    for api in ("sync", "thrift"):
        for callers in (1, 8):
            for quota in QUOTAS:
                yield Scenario(Load(api, callers=callers, quota=quota), (TCP, SKEIN), 7, bases=(TCP,))


# What runs beside services of gRPC 1.73 and later.
CURRENT_GRPC_BESIDE = (*LOOPS[:2], COMPILERS)


def current_grpc():
    """What is wanted of gRPC 1.73 and later, in a quarter of an hour."""
    for api in ("sync", "callback"):
        for callers in (1, 8, 64):
            yield Scenario(Load(api, callers=callers), (TCP, SKEIN), MANY, bases=(TCP,))
        yield Scenario(Load(api, size=MIB), (TCP, SKEIN), MANY, bases=(TCP,))
        for beside in CURRENT_GRPC_BESIDE:
            for callers in (1, 8, 64):
                yield Scenario(Load(api, callers=callers, beside=beside), (TCP, SKEIN), FEW, bases=(TCP,))
    yield Scenario(Load(measure="idle", channels=100), (TCP, SKEIN), 2, bases=(TCP,))
    yield Scenario(Load(measure="first_call"), (TCP, SKEIN, FALLBACK), 21, bases=(TCP,))


REMOTE_LARGE = 64 * KIB  # as much as emulated processors do often enough


def vm():
    """The same services from one virtual machine to another, in twenty minutes."""
    small = [Load(api, callers=callers) for api in ("sync", "callback", "stream", "thrift") for callers in (1, 8)]
    large = [Load(api, size=REMOTE_LARGE, callers=callers) for api in ("sync", "thrift") for callers in (1, 8)]
    return [Scenario(load, REMOTE, FEW) for load in small + large]


def trace():
    """What tracing costs, and whether its stages add up to what a caller measures. Five minutes."""
    loads = [Load(api, callers=callers) for api in ("sync", "callback", "thrift") for callers in (1, 8)]
    for load in loads:
        told = (TOLD,) if load == Load() else ()
        yield Scenario(load, (SKEIN, SAMPLED, TRACED, *told), 2 * MANY, bases=(SKEIN,))


def before():
    """What this commit's Skein does beside an earlier one's. Ten minutes."""
    loads = [Load(api, callers=callers) for api in ("sync", "callback", "thrift") for callers in (1, 8, 64)]
    loads += [Load("thrift-nonblocking", callers=8), *(Load(api, size=MIB) for api in ("sync", "thrift"))]
    for load in loads:
        yield Scenario(load, (TCP, SKEIN_BEFORE, SKEIN), MANY, bases=(SKEIN_BEFORE,))
