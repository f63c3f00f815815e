"""The probe programs (tests/system/probe_*.cc): a gRPC client and a server that are told what to do line by line. And the
build that they are of, with its libraries and tools."""

import enum
import functools
import pathlib
import re
import shutil
import subprocess
import typing

from skeintest.child import Child, clean_environment


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


def build():
    """The build folder."""
    return _build


def grpc():
    return _grpc


def expected_path():
    return "tcp" if _transport is Transport.TCP else "shm"


NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]


def not_with_event_engines(why):
    """Leaves a test out where gRPC has event engines. Asked when the test runs: --grpc says which there is."""

    def decorate(test):
        @functools.wraps(test)
        def run(self):
            if grpc().has_event_engines:
                self.skipTest(why)
            test(self)

        return run

    return decorate


class Probe(Child):
    """A probe, which answers each line with one of JSON."""

    def __init__(self, name, flags, *, transport=None, mode="prefer", arguments=None, prefix=(), env=None, folder=None):
        """`transport`: the one that is configured, unless given. `arguments`: gRPC's, of its channels and servers. `prefix`:
        words before the command. `env`: variables besides. `folder`: where its programs and libraries are copied to."""
        transport = transport or _transport
        arguments = dict(arguments or {})
        environment = {**clean_environment("GRPC_"), "GRPC_VERBOSITY": "info"}
        if transport is Transport.PRELOAD:
            environment.update(LD_PRELOAD=str(preload_library(folder)), SKEIN_GRPC=mode)
        if transport is Transport.ARGUMENT:
            name += "_skein"
            arguments.setdefault("skein.mode", mode)
        environment.update(env or {})
        if folder is not None:
            environment["LD_LIBRARY_PATH"] = str(folder)
        command = [*prefix, binary(name, folder), *flags]
        if arguments:
            command.append("--arguments=" + ",".join(f"{k}={v}" for k, v in arguments.items()))
        super().__init__(command, environment)

    def ask(self, *words, seconds=30):
        self.send(*words)
        return self.receive(seconds)

    def paths(self):
        """What each connection used, oldest first: "shm", "tcp: why"."""
        return re.findall(r"skein: \w+ \S+ uses (.+)", self.log())

    def path(self):
        paths = self.paths()
        return paths[-1].strip() if paths else "tcp"


def binary(name, folder=None):
    return (folder or _build / "tests/system") / name


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


def tool(name):
    return _build / "tools" / name / name


def skein(*arguments, command=None, **how):
    """What the command `skein` says, once it has ended. `how`: more of subprocess.run's."""
    words = [command or tool("skein"), *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, **{"timeout": 60, "check": False, **how})
