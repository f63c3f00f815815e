"""The processes of a pairing: servers that live through a whole run, clients that live for one case."""

import pathlib
import sys

INTEROP = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(INTEROP.parents[1] / "tests"))

from skeintest import child  # noqa: E402

# The server looks at its stop flag every 5 s.
STOP_TIMEOUT = 30

TLS_HOST = "foo.test.google.fr"


class Programs:
    """Where the programs and certificates are, where clients find the server, and what switches a process to Skein."""

    def __init__(self, build, source, host="127.0.0.1", settings=(("SKEIN_GRPC", "prefer"),)):
        self.host = host
        self.settings = dict(settings)
        self.client = build / "interop/grpc/interop_client"
        self.server = build / "interop/grpc/interop_server"
        self.ruby_protos = build / "interop/grpc/generated/ruby"
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
        environment = child.clean_environment("GRPC_")
        environment["GRPC_VERBOSITY"] = verbosity
        if skein:
            environment.update(LD_PRELOAD=str(self.preload), **self.settings)
        return environment


class Server(child.Child):
    """An interop_server."""

    def __init__(self, programs, port, skein, tls, log_path):
        self.port, self.skein, self.tls, self.log_path = port, skein, tls, log_path
        command = [str(programs.server), f"--port={port}"] + (["--use_tls"] if tls else [])
        super().__init__(command, programs.environment(skein, "info"), log=log_path, talks=False)

    def wait_until_ready(self):
        self.await_log("Server listening on")


def run_client(programs, kind, case, server, skein, log_path):
    """Runs one case; returns (what failed or '', log)."""
    command = programs.client_command(kind, case, server.port, server.tls)
    status, log = child.run_to_end(command, programs.environment(skein, "debug"), log_path, case.timeout)
    return child.end_fault(status, log, case.timeout, (case.proof,)), log
