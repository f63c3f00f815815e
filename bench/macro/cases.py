"""What is compared, and how its processes are started."""

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import tempfile

# glibc's defaults hand every freed megabyte back to the kernel: page faults would then be most of a large echo's time.
MALLOC = {"MALLOC_MMAP_THRESHOLD_": "67108864", "MALLOC_TRIM_THRESHOLD_": "268435456"}


@dataclasses.dataclass(frozen=True)
class Case:
    """One way for a client to reach a server."""

    name: str
    skein_client: bool = False
    skein_server: bool = False
    unix_socket: bool = False
    tls: bool = False

    @property
    def expected_path(self):
        """What a Skein client must log; anything else is not a measurement but a failure."""
        if not self.skein_client:
            return None
        return "shm" if self.skein_server else "tcp: peer does not speak Skein"


TCP = Case("tcp")
STEADY = (TCP, Case("unix", unix_socket=True), Case("shm", skein_client=True, skein_server=True))

TLS_TCP = Case("tls tcp", tls=True)
FIRST_CALL = (
    TCP,
    Case("shm", skein_client=True, skein_server=True),
    Case("fallback", skein_client=True),
    TLS_TCP,
    Case("tls shm", skein_client=True, skein_server=True, tls=True),
    Case("tls fallback", skein_client=True, tls=True),
)


def baseline(case):
    """The case that this one's figures are divided by."""
    return TLS_TCP if case.tls else TCP


class Failure(Exception):
    """A process did not do what it was started for."""


class Stage:
    """Where processes run: the build's programs, an environment alike for all, a folder for sockets and certificates."""

    def __init__(self, build):
        self._programs = build / "bench/macro"
        self._exits = contextlib.ExitStack()
        self._folder = pathlib.Path(self._exits.enter_context(tempfile.TemporaryDirectory()))
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SKEIN_", "GRPC_", "LD_PRELOAD", "MALLOC_"))}
        self._environment = {**kept, **MALLOC, "GRPC_VERBOSITY": "info"}
        self._certificate = self._folder / "cert.pem"
        self._key = self._folder / "key.pem"
        self._sockets = 0
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
            + ["-keyout", self._key, "-out", self._certificate, "-days", "2", "-subj", "/CN=localhost"]
            + ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
            check=True,
            capture_output=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._exits.close()

    def has_skein(self):
        return self._program("client", True).exists()

    def _program(self, role, skein):
        return self._programs / f"bench_echo_{role}{'_skein' if skein else ''}"

    @contextlib.contextmanager
    def server(self, case, style):
        """A running server's address."""
        command = [self._program("server", case.skein_server), f"--style={style}"]
        if case.unix_socket:
            self._sockets += 1
            command.append(f"--listen=unix:{self._folder}/{self._sockets}")
        if case.tls:
            command += [f"--tls_cert={self._certificate}", f"--tls_key={self._key}"]
        with tempfile.TemporaryFile() as log:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=self._environment
            )
            try:
                line = process.stdout.readline().decode()
                if not line.startswith("listening on "):
                    raise Failure(f"the server of {case.name} did not start:\n{_text(log)}")
                yield line.removeprefix("listening on ").strip()
            finally:
                process.stdin.close()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                process.stdout.close()

    def client(self, case, address, *flags):
        """Runs a client; its figures."""
        command = [self._program("client", case.skein_client), f"--target={address}", *flags]
        if case.tls:
            command.append(f"--tls_ca={self._certificate}")
        done = subprocess.run(command, capture_output=True, text=True, env=self._environment, timeout=120)
        if done.returncode != 0:
            raise Failure(f"the client of {case.name} failed:\n{done.stderr}")
        paths = re.findall(r"skein: client \S+ uses (.+)", done.stderr)
        if case.expected_path is not None and not (paths and paths[-1].startswith(case.expected_path)):
            raise Failure(f"{case.name} used {paths or 'no path'} instead of {case.expected_path}:\n{done.stderr}")
        return json.loads(done.stdout)


def _text(log):
    log.seek(0)
    return log.read().decode(errors="replace")
