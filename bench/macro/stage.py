"""Where the processes of a measurement run."""

import contextlib
import functools
import json
import pathlib
import re
import resource
import tempfile

import neighbours
from skeintest import cgroups, child, kernel
from skeintest.certificate import make_certificate

# glibc's defaults hand every freed megabyte back to the kernel: page faults would then be most of a large echo's time.
MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(1 << 28), "MALLOC_TRIM_THRESHOLD_": str(1 << 30)}

SECONDS_TO_END = 10

class Failure(Exception):
    """A process did not do what it was started for."""


class Stuck(Failure):
    """Nor can it be killed: it is stuck in the kernel."""


def kill(process):
    try:
        process.kill()
    except child.Silence as silence:
        raise Stuck(f"{process.name} is stuck in the kernel: {kernel.waits(process.pid)}") from silence


def end(process):
    """Of a process that ends with its standard input."""
    if process.end(SECONDS_TO_END) is None:
        raise Failure(f"the server did not end within {SECONDS_TO_END} s")


@contextlib.contextmanager
def serving(command, environment, ends):
    """A running server's address and process id. One that `ends` does so with its standard input; others are killed."""
    server = child.Child(command, environment)
    try:
        try:
            line = server.line()
        except child.Silence as silence:
            raise Failure(f"the server did not start: {silence}") from silence
        if not line.startswith("listening on "):
            raise Failure(f"the server said {line}")
        yield line.removeprefix("listening on ").strip(), server.pid
        if ends:
            end(server)
    finally:
        kill(server)
        server.close()


def thrift_flags(load, transport):
    """Of both ends."""
    flags = [f"--wait_mode={transport.wait_mode}"]
    return flags + ["--skein"] * transport.needs_skein + ["--nonblocking"] * (load.api == "thrift-nonblocking")


class Stage:
    """The build's programs, an environment alike for all, a folder for sockets and certificates. A subclass may start
    servers elsewhere."""

    address = "127.0.0.1"  # servers listen on it
    patience = 120  # seconds for a measurement, besides the time that it is asked to take
    # Words before a command that start it where its processor time is limited.
    _of_server = []
    _of_client = []

    def __init__(self, build, before=None):
        """`before`: the earlier build, where transports have its programs."""
        self._build, self._before = build, before
        self._exits = contextlib.ExitStack()
        self._folder = pathlib.Path(self._exits.enter_context(tempfile.TemporaryDirectory()))
        self._environment = {**child.clean_environment("GRPC_", "MALLOC_"), **MALLOC, "GRPC_VERBOSITY": "info"}
        # A thousand connections are more descriptors than a process has by default.
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._exits.close()

    def obstacle(self, load, transport):
        """Why it cannot be measured, or "". A build may be without Skein for gRPC, or without Thrift."""
        program = self._thrift(transport) if load.thrift else self._program(transport, "client", transport.needs_skein)
        return "" if program.exists() else f"{program.name} is not built"

    def measure(self, load, transport, seconds):
        """The figures of `load` over `transport`: {name: number}. They are of processes of their own."""
        with neighbours.beside(load.beside), self._groups(load):
            with self.server(load, transport) as (address, process):
                if load.thrift:
                    return self._measure_thrift(load, transport, address, process, seconds)
                flags = [f"--target={address}", f"--measure={load.measure}", f"--style={load.api}"]
                if load.measure == "first_call":
                    # Of a server that has served before: its own start is not the question.
                    self._measure_grpc(transport, flags, seconds)
                    return self._measure_grpc(transport, flags, seconds)
                flags += [f"--server_style={load.api}", f"--duration={seconds}s", f"--server_pid={process}"]
                flags += [f"--{name}={getattr(load, name)}" for name in ("callers", "channels", "rate")]
                flags += [f"--bytes={load.size}", f"--large_bytes={load.large}"]
                return self._measure_grpc(transport, flags, seconds)

    @contextlib.contextmanager
    def _groups(self, load):
        """While it lasts, servers and clients are started with the load's quota, each kind in a group of its own."""
        if not load.quota:
            yield
            return
        with cgroups.cpu_quota(load.quota) as of_server, cgroups.cpu_quota(load.quota) as of_client:
            self._of_server, self._of_client = of_server, of_client
            try:
                yield
            finally:
                self._of_server, self._of_client = [], []

    @contextlib.contextmanager
    def server(self, load, transport):
        """A running server's address and process id (0: it is in the client's, or on another machine)."""
        if transport.listen is None:
            yield "in-process", 0
            return
        listen = f"--listen={transport.listen.format(folder=self._folder, address=self.address)}"
        if load.thrift:
            command = [self._thrift(transport), listen, *thrift_flags(load, transport)]
        else:
            command = [self._program(transport, "server", transport.skein_server), listen, f"--style={load.api}"]
        if transport.tls:
            certificate, key = self._certificate
            command += [f"--tls_cert={certificate}", f"--tls_key={key}"]
        command = [*self._of_server, *(str(word) for word in command)]
        with self._serving(command, self._environment_of(transport), transport.ends) as told:
            yield told

    _serving = staticmethod(serving)

    def _build_of(self, transport):
        return self._before if transport.before else self._build

    def _thrift(self, transport):
        return self._build_of(transport) / "bench/thrift/bench_thrift"

    def _program(self, transport, role, skein):
        return self._build_of(transport) / "bench/macro" / f"bench_echo_{role}{'_skein' if skein else ''}"

    def _environment_of(self, transport):
        own = {name: value.format(build=self._build_of(transport)) for name, value in transport.environment}
        return {**self._environment, "SKEIN_WAIT_MODE": transport.wait_mode, **own}

    @functools.cached_property
    def _certificate(self):
        return make_certificate(self._folder)

    def _measure_grpc(self, transport, flags, seconds):
        tls = [f"--tls_ca={self._certificate[0]}"] if transport.tls else []
        return self._run([self._program(transport, "client", transport.skein_client), *flags, *tls], transport, seconds)

    def _measure_thrift(self, load, transport, address, process, seconds):
        flags = [f"--target={address}", f"--server_pid={process}", *thrift_flags(load, transport)]
        flags += [f"--bytes={load.size}", f"--threads={load.callers}", f"--duration={seconds}s"]
        return self._run([self._thrift(transport), *flags, *["--idle"] * (load.measure == "idle")], transport, seconds)

    def _run(self, command, transport, seconds):
        """The figures that a client prints."""
        limit = seconds + self.patience
        with child.Child([*self._of_client, *command], self._environment_of(transport)) as client:
            try:
                printed = client.rest(limit)
            except child.Silence as silence:
                kill(client)
                raise Failure(f"{command[0].name} took more than {limit:.0f} s") from silence
            status, log = client.wait(SECONDS_TO_END), client.log()
        if status != 0:
            raise Failure(f"{command[0].name} ended with status {status}:\n{log[-2000:]}")
        paths = re.findall(r"skein: client \S+ uses (.+)", log)
        if transport.path is not None and not (paths and all(path.startswith(transport.path) for path in paths)):
            raise Failure(f"paths were {sorted(set(paths))} instead of {transport.path}:\n{log}")
        return json.loads(printed)

