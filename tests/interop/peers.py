"""The processes of a pairing: servers that live through a whole run, clients that live for one case."""

import os
import pathlib
import signal
import socket
import subprocess
import threading

INTEROP = pathlib.Path(__file__).parent
START_TIMEOUT = 20  # seconds
# The server looks at its stop flag every 5 s.
STOP_TIMEOUT = 30

TLS_HOST = "foo.test.google.fr"


class Programs:
    """Where the programs and certificates are, where clients find the server, and what switches a process to Skein."""

    def __init__(self, build, source, host="127.0.0.1", settings=(("SKEIN_GRPC", "prefer"),)):
        self.host = host
        self.settings = dict(settings)
        self.client = build / "tests/interop/interop_client"
        self.server = build / "tests/interop/interop_server"
        self.ruby_protos = build / "tests/interop/generated/ruby"
        self.preload = build / "grpc_transport/libskein_grpc_preload.so"
        self.test_ca = source / "src/core/tsi/test_creds/ca.pem"

    def client_command(self, kind, case, port, tls):
        """The command line that runs one case with a client of this kind: cc or ruby."""
        if kind == "ruby":
            command = ["ruby", "-I", str(self.ruby_protos), str(INTEROP / "ruby/client.rb"), case.name, str(port)]
            return command + ([str(self.test_ca), TLS_HOST] if tls else [])
        command = [str(self.client), f"--server_host={self.host}", f"--server_port={port}", f"--test_case={case.name}"]
        command += case.flags
        return command + (["--use_tls", "--use_test_ca", f"--server_host_override={TLS_HOST}"] if tls else [])

    def environment(self, skein, verbosity):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SKEIN_", "GRPC_", "LD_PRELOAD"))}
        environment["GRPC_VERBOSITY"] = verbosity
        if skein:
            environment.update(LD_PRELOAD=str(self.preload), **self.settings)
        return environment


def free_ports(count):
    """Ports that nobody listens on; all held until all are known, so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


class Server:
    """An interop_server; its log is kept in a file and can be read while it runs."""

    def __init__(self, programs, port, skein, tls, log_path):
        self.port, self.skein, self.tls, self.log_path = port, skein, tls, log_path
        self._listening = threading.Event()
        self._process = subprocess.Popen(
            [str(programs.server), f"--port={port}"] + (["--use_tls"] if tls else []),
            env=programs.environment(skein, "info"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE)  # fmt: skip
        self._reader = threading.Thread(target=self._keep_log, daemon=True)
        self._reader.start()

    def _keep_log(self):
        with self.log_path.open("wb") as log:
            for line in self._process.stderr:
                log.write(line)
                log.flush()
                if b"Server listening on" in line:
                    self._listening.set()
        self._listening.set()  # it has died: let nobody wait for it

    def wait_until_listening(self):
        if not self._listening.wait(START_TIMEOUT) or self._process.poll() is not None:
            raise RuntimeError(f"the server did not start; its log: {self.log_path}")

    def log(self):
        return self.log_path.read_text(errors="replace")

    def stop(self):
        """Asks it to end; returns '' or what was wrong with how it ended."""
        if self._process.poll() is not None:
            return f"the server died with status {self._process.returncode}"
        self._process.send_signal(signal.SIGINT)
        try:
            status = self._process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return f"the server did not end within {STOP_TIMEOUT} s"
        finally:
            self._reader.join(STOP_TIMEOUT)
        return "" if status == 0 else f"the server ended with status {status}"


def run_client(programs, kind, case, server, skein, log_path):
    """Runs one case; returns (what failed or '', log)."""
    with log_path.open("wb") as log:
        try:
            status = subprocess.run(
                programs.client_command(kind, case, server.port, server.tls),
                env=programs.environment(skein, "debug"), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                timeout=case.timeout, check=False).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            status = None
    text = log_path.read_text(errors="replace")
    if status is None:
        return f"no end after {case.timeout} s", text
    if status != 0:
        return f"the client ended with status {status}", text
    if case.proof not in text:
        return f"status 0, but the client never logged '{case.proof}'", text
    return "", text
