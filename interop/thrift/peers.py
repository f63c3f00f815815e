"""The processes of a case, stock or Skein."""

import pathlib
import sys

import cases
import tls_wire

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests"))

from skeintest import child, kernel  # noqa: E402

STOP_TIMEOUT = 10  # seconds


class Programs:
    """Where the programs are, and what switches one to Skein. A mode of None is the stock variant."""

    def __init__(self, build, settings=()):
        """`settings`: of the Skein variants, besides the mode."""
        self.folder = build / "interop/thrift"
        self.settings = dict(settings)

    def path(self, name, mode):
        return self.folder / f"{name}_{'skein' if mode else 'stock'}"

    def of(self, case, modes):
        return [self.path(name, mode) for name, mode in zip(case.programs, modes)]

    def environment(self, mode):
        environment = child.clean_environment()
        if mode == "prefer":
            environment["SKEIN_NEGOTIATION_TIMEOUT"] = "1000"  # one program opens, then accepts: cases.SOLO
        if mode:
            environment.update(self.settings, SKEIN_THRIFT=mode)
        return environment


def start_server(programs, case, mode, log_path):
    """The server of a case, and its port, which is of the system's choice. Raises Silence when it does not start."""
    command = [programs.path(case.programs[1], mode), "--port=0", *case.server_flags()]
    server = child.Child(command, programs.environment(mode), log=log_path, talks=False)
    try:
        server.await_log("Starting")
        return server, server.listening_port()
    except child.Silence:
        server.close()
        raise


def run_client(programs, case, mode, host, port, log_path):
    """Returns exit status and log."""
    command = [programs.path(case.programs[0], mode), f"--host={host}", f"--port={port}", *case.client_flags()]
    return child.run_to_end(command, programs.environment(mode), log_path, case.timeout)


def run_pair(programs, case, modes, client_log, server_log):
    """Runs the server of a case, and its client to the end of both. Returns the client's exit status, its log, and what
    was wrong with the server, or with TLS between them, or ''. Raises Silence when the server does not start."""
    server, port = start_server(programs, case, modes[1], server_log)
    wire = tls_wire.Wire(port) if case.tls else None
    try:
        status, log = run_client(programs, case, modes[0], "127.0.0.1", wire.port if wire else port, client_log)
    finally:
        wire_fault = wire.end(cases.LEAST_TLS_RECORDS) if wire else ""
        fault = server.stop_fault(STOP_TIMEOUT)
        server.close()
    return status, log, fault or wire_fault


def run_solo(programs, case, mode, log_path):
    """Returns exit status and log."""
    port = [f"--port={kernel.free_ports(1)[0]}"] if case.needs_port else []
    command = [programs.path(case.program, mode), *port, *case.flags]
    return child.run_to_end(command, programs.environment(mode), log_path, case.timeout)


def client_fault(case, status, log):
    """What is wrong with how the client, or the only program, of a case ended, or ''."""
    return child.end_fault(status, log, case.timeout, case.proofs)


def refusal_fault(case, status, log):
    """The same of a client whose connection had to be refused."""
    if status is None:
        return f"no end after {case.timeout} s"
    return "" if status != 0 and case.proofs[0] not in log else "it was served instead of refused"


def flaw_fault(case, status, log):
    """The same of a case that must fail."""
    return "" if client_fault(case, status, log) else "it passed, but had to fail"
