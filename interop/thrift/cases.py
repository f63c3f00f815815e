"""What is run: Thrift's cross tests between two processes; its stress test and its Boost tests, each in one process."""

import dataclasses
import itertools

# Modes of Skein (SKEIN_THRIFT) of client and server; None is a stock program. Where both are Skein, neither may fall back.
PAIRINGS = {
    "stock/stock": (None, None),
    "skein/stock": ("prefer", None),
    "stock/skein": (None, "prefer"),
    "skein/skein": ("require", "require"),
}
# A Skein end that requires must refuse a stock one. Were its sockets not Skein's after all, it would not know how.
REFUSALS = {"skein/stock": ("require", None), "stock/skein": (None, "require")}
# TLS stays on TCP, which no end may mind.
TLS_PAIRINGS = {pairing: tuple(mode and "prefer" for mode in modes) for pairing, modes in PAIRINGS.items()}

# The programs of the cross test know more, but not both of them: websocket is the server's alone, and a non-blocking
# server of HTTP is libevent's, whose answers THttpClient does not understand.
SERVER_TYPES = ("simple", "thread-pool", "threaded", "nonblocking")
TRANSPORTS = ("buffered", "framed", "zlib", "http")
PROTOCOLS = ("binary", "compact", "json", "header", "multi", "multic", "multij", "multih")

# What stock programs fail at as well.
FLAWS = {
    ("nonblocking", "framed", "header"):
        "the client frames twice, by TFramedTransport and by THeaderTransport; this server expects one frame around headers",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Cross:
    """A server and a client in two processes."""

    server_type: str
    transport: str
    protocol: str
    timeout: int = 30  # seconds
    tls: bool = False
    programs = ("thrift_test_client", "thrift_test_server")
    proofs = ("All tests done.",)
    sleeps = False
    attempts = 1

    @property
    def name(self):
        return f"{self.row} {self.protocol}{' tls' if self.tls else ''}"

    @property
    def row(self):
        """Of the table: the protocols share one."""
        return f"{self.server_type} {self.transport}"

    @property
    def flaw(self):
        return FLAWS.get((self.server_type, self.transport, self.protocol), "")

    def client_flags(self):
        zlib = ["--zlib"] if self.transport == "zlib" else []
        tls = ["--ssl"] if self.tls else []
        return [f"--transport={self.transport}", f"--protocol={self.protocol}", *zlib, *tls]

    def server_flags(self):
        return [f"--server-type={self.server_type}", *self.client_flags()]


@dataclasses.dataclass(frozen=True)
class Solo:
    """A program that is client and server at once."""

    name: str
    program: str
    proofs: tuple  # all of which it says when it has done what it should
    flags: tuple = ()
    needs_port: bool = False
    modes: tuple = (None, "require")
    sleeps: bool = False  # spends its time sleeping: many can run at once
    attempts: int = 1  # of which one must pass: more for programs that measure time themselves
    timeout = 120  # seconds
    flaw = ""

    @property
    def programs(self):
        return (self.program,)

    @property
    def row(self):
        return self.name


def stress(server_type, client_type):
    clients, loops = 4, 10000
    flags = (f"--server-type={server_type}", f"--client-type={client_type}", f"--clients={clients}", f"--loop={loops}")
    return Solo(f"stress {server_type} {client_type}", "thrift_stress_test", (f"echoVoid => {clients * loops}\n", "done."),
                flags, needs_port=True)


def boost(name, cases, **options):
    return Solo(name, f"thrift_{name}", (f"Running {cases} test cases...", "No errors detected"), ("--color_output=no",),
                **options)


CROSS = [
    Cross(*combination)
    for combination in itertools.product(SERVER_TYPES, TRANSPORTS, PROTOCOLS)
    if combination[0] != "nonblocking" or combination[1] == "framed"
]

# Each server and transport once: TLS is below them all.
TLS = [
    Cross("simple", "zlib", "binary", tls=True),
    Cross("thread-pool", "framed", "compact", tls=True),
    Cross("threaded", "buffered", "header", tls=True),
    Cross("threaded", "http", "json", tls=True),
    Cross("nonblocking", "framed", "multi", tls=True),
]
# A case makes 83 calls, one after the other: a record there and one back at least, for each.
LEAST_TLS_RECORDS = 83

REFUSED = [Cross("simple", "buffered", "binary"), Cross("nonblocking", "framed", "binary")]

SOLO = [
    *(stress(*types) for types in itertools.product(("simple", "thread-pool", "threaded"), ("regular", "concurrent"))),
    # One thread opens, then accepts: the client is not answered in time, and connects anew. This one bears with that;
    boost("server_socket_test", 7, modes=(None, "prefer")),
    # this one goes on with the first connection.
    boost("socket_interrupt_test", 5, modes=(None, "off")),
    # Expects ten connections within 100 ms, which no loaded machine promises.
    boost("server_integration_test", 13, attempts=5),
    boost("nonblocking_server_test", 3),
    boost("processor_test", 64, sleeps=True),
    boost("transport_test", 285, sleeps=True),
]
