"""Starts probe programs as a user would, talks to them line by line, and reads what the kernel says of them."""

import collections
import enum
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import typing
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from certificate import make_certificate  # noqa: E402
from processes import Lines, await_true, clean_environment, descriptors, sockets, threads  # noqa: E402


class Transport(enum.Enum):
    """How a program is switched to Skein."""

    TCP = "tcp"  # not at all
    PRELOAD = "preload"  # LD_PRELOAD and SKEIN_GRPC
    ARGUMENT = "argument"  # in code: Init() and the channel argument


class Grpc(typing.NamedTuple):
    """The gRPC that the programs are built with."""

    version: str  # "1.51.1"
    core: str  # what grpc_version_string() says: "29.0.0"

    @property
    def major(self):
        """The number in SONAMEs: "29"."""
        return self.core.split(".")[0]

    @property
    def has_event_engines(self):
        """Connections are made by an EventEngine, of which Skein's adapter for current gRPC is one."""
        return tuple(map(int, self.version.split(".")[:2])) >= (1, 73)


_build = pathlib.Path()
_transport = Transport.TCP
_grpc = Grpc("1.51.1", "29.0.0")


def configure(build, transport, grpc=_grpc):
    global _build, _transport, _grpc
    _build, _transport, _grpc = build, transport, grpc


def transport():
    return _transport


def grpc():
    return _grpc


def expected_path():
    return "tcp" if _transport is Transport.TCP else "shm"


NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]


# gRPC's own pools of threads breathe; a thread per connection would show all the same.
SLACK = {"threads": 3}


def not_with_event_engines(why):
    """Leaves a test out where gRPC has event engines. Asked when the test runs: run.py says which gRPC there is."""

    def decorate(test):
        @functools.wraps(test)
        def run(self):
            if grpc().has_event_engines:
                self.skipTest(why)
            test(self)

        return run

    return decorate


class Silence(AssertionError):
    """A program said nothing in time, or ended."""


class Program:
    """A child process that answers each line of input with one line of JSON. Its log is kept in a file."""

    def __init__(self, name, flags, *, transport=None, mode="prefer", arguments=None, prefix=(), env=None, folder=None):
        transport = transport or _transport
        arguments = dict(arguments or {})
        environment = clean_environment("GRPC_")
        environment["GRPC_VERBOSITY"] = "info"
        if transport is Transport.PRELOAD:
            environment["LD_PRELOAD"] = str(preload_library(folder))
            environment["SKEIN_GRPC"] = mode
        if transport is Transport.ARGUMENT:
            name += "_skein"
            arguments.setdefault("skein.mode", mode)
        environment.update(env or {})
        if folder is not None:
            environment["LD_LIBRARY_PATH"] = str(folder)
        command = [*prefix, str(binary(name, folder)), *flags]
        if arguments:
            command.append("--arguments=" + ",".join(f"{k}={v}" for k, v in arguments.items()))
        self.log_file = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log_file, env=environment
        )
        self._wrapped = bool(prefix) and prefix[0] == "unshare"
        self._lines = Lines(self._process.stdout)

    @property
    def pid(self):
        """The program's process id, below a wrapper that forked."""
        pid = self._process.pid
        if self._wrapped:
            children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            pid = int(children[0]) if children else pid
        return pid

    def send(self, *words):
        self._process.stdin.write((" ".join(str(word) for word in words) + "\n").encode())
        self._process.stdin.flush()

    def receive(self, timeout=30.0):
        """The next report."""
        try:
            return json.loads(self._lines.next(timeout))
        except TimeoutError:
            raise Silence(f"no answer within {timeout} s; log:\n{self.log()}") from None
        except EOFError:
            raise Silence(f"ended with status {self._process.wait()}; log:\n{self.log()}") from None

    def ask(self, *words, timeout=30.0):
        self.send(*words)
        return self.receive(timeout)

    def log(self):
        size = os.fstat(self.log_file.fileno()).st_size
        return os.pread(self.log_file.fileno(), size, 0).decode(errors="replace")

    def paths(self):
        """What each connection used, oldest first: "shm", "tcp: why"."""
        return re.findall(r"skein: \w+ \S+ uses (.+)", self.log())

    def path(self):
        paths = self.paths()
        return paths[-1].strip() if paths else "tcp"

    def ended(self):
        return self._process.poll() is not None

    def signal(self, number):
        os.kill(self.pid, number)

    def is_stopped(self):
        """By SIGSTOP, which takes a while on a busy machine: each of its threads."""
        stats = pathlib.Path(f"/proc/{self.pid}/task").glob("*/stat")
        try:
            return all(stat.read_text().rsplit(")", 1)[1].split()[0] == "T" for stat in stats)
        except (FileNotFoundError, ProcessLookupError):
            return False  # one has just ended

    def kill(self):
        """SIGKILL, and waits until the process is gone."""
        self._process.kill()
        self._process.wait()

    def wait(self, timeout=10.0):
        """Closes the program's input, on which it ends; returns its exit status."""
        self._process.stdin.close()
        return self._process.wait(timeout)

    def close(self):
        if self._process.poll() is None:
            if self._wrapped and self.pid != self._process.pid:
                os.kill(self.pid, signal.SIGKILL)
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self.log_file):
            try:
                pipe.close()
            except BrokenPipeError:
                pass


def binary(name, folder=None):
    return (folder or _build / "tests/process") / name


def preload_library(folder=None):
    return (folder or _build / "grpc_transport") / "libskein_grpc_preload.so"


def core_library():
    return _build / "core/libskein_core.so.1"


def copy_for_everyone(folder):
    """Copies the programs and libraries to `folder`, readable by every user of the machine."""
    folder.chmod(0o755)
    for name in ("probe_client", "probe_server", "probe_client_skein", "probe_server_skein"):
        shutil.copy(binary(name), folder / name)
    for library in (*(_build / "grpc_transport").glob("libskein_grpc*.so*"), core_library()):
        shutil.copy(library, folder / library.name)
    for file in folder.iterdir():
        file.chmod(0o755)


class ProcessTest(unittest.TestCase):
    """Programs started here are gone when the test is."""

    def server(self, flags=(), **options):
        server = Program("probe_server", flags, **options)
        self.addCleanup(server.close)
        report = server.ask("start")
        self.assertFalse(report["timed_out"], f"the server did not start:\n{server.log()}")
        server.address = report["address"]
        return server

    def unopened_client(self, target, flags=(), **options):
        client = Program("probe_client", [f"--target={target}", *flags], **options)
        self.addCleanup(client.close)
        return client

    def client(self, target, flags=(), channels=1, **options):
        """A client whose channels are connected."""
        client = self.unopened_client(target, flags, **options)
        report = client.ask("open", channels, 10000)
        self.assertFalse(report["timed_out"], f"no connection to {target}:\n{client.log()}")
        return client

    def pair(self, **options):
        server = self.server(arguments=options.pop("server_arguments", None))
        return server, self.client(server.address, **options)

    def assert_calls_succeed(self, client, count=3, size=1000):
        self.assertEqual(client.ask("call", count, size)["statuses"], {"OK": count}, client.log())

    def assert_waiting_call_succeeds(self, client):
        """One that waits for a connection."""
        report = client.ask("wait_call", 10000)
        self.assertEqual(report["statuses"], {"OK": 1}, f"{report['message']}\n{client.log()}")

    def assert_path(self, program, path):
        self.assertTrue(program.path().startswith(path), f"{path} expected, got {program.path()}:\n{program.log()}")

    def assert_holdings_return_to(self, baseline, program, fields):
        """That the program soon holds no more than `baseline` of each of the fields."""
        fields = fields.split()

        def returned():
            now = holdings(program.pid)
            return all(getattr(now, field) <= getattr(baseline, field) + SLACK.get(field, 0) for field in fields)

        if not await_true(returned, 10):
            files = "\n".join(sorted(descriptors(program.pid)) + sockets(program.pid) + threads(program.pid))
            self.fail(f"{fields}\nbefore {baseline}\nnow    {holdings(program.pid)}\n{files}")

    def scratch(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return pathlib.Path(folder.name)

    def certificate(self):
        """(certificate, key) files for localhost, signed by itself."""
        return make_certificate(self.scratch())


# What a process holds, from /proc.
Holdings = collections.namedtuple("Holdings", "fds memfds threads maps")


def mappings(pid):
    return pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()


def holdings(pid):
    fds = descriptors(pid)
    return Holdings(
        fds=len(fds),
        memfds=sum("memfd:" in target for target in fds),
        threads=len(os.listdir(f"/proc/{pid}/task")),
        maps=sum("memfd:" in line for line in mappings(pid)),
    )


def resident_bytes(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def cpu_ticks(pid):
    """User and system time so far, in clock ticks."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def cpu_ticks_within(pid, seconds):
    """What the whole process uses of the next `seconds`, threads that end meanwhile included."""
    before = cpu_ticks(pid)
    time.sleep(seconds)  # the measurement itself
    return cpu_ticks(pid) - before


def thread_ticks_within(pid, seconds):
    """The same by thread, of those that used any."""
    before = _thread_ticks(pid)
    time.sleep(seconds)
    after = _thread_ticks(pid)
    used = {thread: ticks - before.get(thread, 0) for thread, ticks in after.items()}
    return {thread: ticks for thread, ticks in used.items() if ticks > 0}


def _thread_ticks(pid):
    ticks = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            name, fields = (task / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
        except (FileNotFoundError, ProcessLookupError):
            continue  # ended since it was listed
        words = fields.split()
        ticks[f"{task.name} {name}"] = int(words[11]) + int(words[12])
    return ticks


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True
