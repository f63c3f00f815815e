"""The programs of a load: servers, and clients whose every byte is checked."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from processes import Lines, clean_environment, descriptors  # noqa: E402

PATIENCE = 20  # seconds for any answer
START_PATIENCE = 20  # for the first of a server

# What a call may end with while nothing is wrong. GIVEN_UP: by its caller, in a hurry or for fun.
FINE = {"OK", "GIVEN_UP"}
# And with what else while a server is gone; and while it, or its client, does nothing (then open() times out, too).
GONE = {"grpc": {"UNAVAILABLE"}, "thrift": {"NOT_OPEN", "END_OF_FILE", "UNKNOWN"}}
SILENT = {"grpc": {"DEADLINE_EXCEEDED"}, "thrift": {"TIMED_OUT", "NOT_OPEN"}}
FRAMEWORKS = list(GONE)

# What makes two processes of one host use it.
PATHS = {
    "shm": {"SKEIN_RDMA": "off"},
    "rdma": {"SKEIN_SHM": "off"},
    "tcp": {"SKEIN_SHM": "off", "SKEIN_RDMA": "off"},
}


class Program:
    """One process, which answers lines by lines. It uses `path`, or nothing unless `mode` says prefer. Its log goes to the
    file `log`, or where this process's goes."""

    def __init__(self, build, framework, path, flags, prefix=(), settings=None, mode=None, log=None):
        environment = clean_environment("GRPC_")
        environment.update({**PATHS[path], **(settings or {})})
        mode = mode or ("off" if path == "tcp" else "require")
        with contextlib.nullcontext() if log is None else log.open("wb") as stderr:
            self.process = subprocess.Popen(
                [*prefix, build / f"tests/load/{framework}_load", f"--mode={mode}", *flags],
                env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, bufsize=0)  # fmt: skip
        self.lines = Lines(self.process.stdout)

    @property
    def pid(self):
        return self.process.pid

    def line(self, patience=PATIENCE):
        try:
            return self.lines.next(patience)
        except TimeoutError:
            raise TimeoutError(f"process {self.pid} says nothing for {patience} s; {waits(self.pid)}") from None
        except EOFError:
            raise RuntimeError(f"process {self.pid} ended by itself with {self.process.wait()}") from None

    def heap(self):
        """KiB that malloc has given out ("live"), and that it keeps ("free")."""
        self.process.stdin.write(b"heap\n")
        return json.loads(self.line())

    def signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        """SIGKILL; returns when it is gone."""
        self.process.kill()
        self.process.wait()
        self.close_pipes()

    def close_pipes(self):
        self.process.stdin.close()
        self.process.stdout.close()

    def ended(self):
        return self.process.poll() is not None


class Server(Program):
    connections = 1  # at least, once it is in use

    def __init__(self, build, framework, path, address="127.0.0.1:0", flags=(), **how):
        super().__init__(build, framework, path, [f"--serve={address}", *flags], **how)

    def address(self):
        """When it listens."""
        return self.line(START_PATIENCE).removeprefix("listening on ")

    def stop(self):
        """Asks it to end, and returns its status."""
        self.process.stdin.close()
        status = self.process.wait(PATIENCE)
        self.process.stdout.close()
        return status


class Client(Program):
    def __init__(self, build, framework, path, addresses, flags=(), **how):
        super().__init__(build, framework, path, [f"--targets={','.join(addresses)}", *flags], **how)
        self.connections = len(addresses)

    def report(self, patience=PATIENCE):
        """A report for each server, of what has ended since the last (tests/load/tally.h)."""
        self.process.stdin.write(b"report\n")
        return json.loads(self.line(patience))

    def fork(self, way):
        """It forks, and its child ends that way: by "exec", "_exit", "exit". '', or what else became of the child."""
        self.process.stdin.write(f"fork {way}\n".encode())
        return self.line()

    def stop(self, patience=PATIENCE + 10):
        """Ends the load; the last report, or an error if the process does not end well."""
        self.process.stdin.close()
        reports = json.loads(self.line(patience))
        if self.process.wait(PATIENCE) != 0:
            raise RuntimeError(f"the client ended with {self.process.returncode}")
        self.process.stdout.close()
        return reports


class Standstill:
    """For how long this machine has let nobody run, at worst, since this was made: machines that are shared stop now and
    then."""

    NAP = 0.01  # seconds
    _pauses = []  # (end, ms) of all that count
    _watch = None

    def __init__(self):
        self._start = time.monotonic()
        if Standstill._watch is None:
            Standstill._watch = threading.Thread(target=self._look, daemon=True)
            Standstill._watch.start()

    @property
    def ms(self):
        return max((ms for end, ms in list(self._pauses) if end >= self._start), default=0.0)

    @classmethod
    def _look(cls):
        while True:
            before = time.monotonic()
            time.sleep(cls.NAP)
            now = time.monotonic()
            if now - before > 2 * cls.NAP:
                cls._pauses.append((now, 1000 * (now - before - cls.NAP)))


class Sum:
    """Reports of one server, added up."""

    def __init__(self):
        self.statuses, self.why, self.paths, self.wrong, self.what, self.late_ms, self.bytes = {}, {}, {}, 0, "", 0.0, 0

    def add(self, report):
        for status, count in report["statuses"].items():
            self.statuses[status] = self.statuses.get(status, 0) + count
        self.why.update(report["why"])
        for path, count in report["paths"].items():
            self.paths[path] = self.paths.get(path, 0) + count
        self.wrong, self.what = self.wrong + report["wrong"], report["what"] or self.what
        self.late_ms = max(self.late_ms, report["late_ms"])
        self.bytes += report["bytes"]
        return report["statuses"].get("OK", 0)

    def other_than(self, allowed):
        return {status: count for status, count in self.statuses.items() if status not in allowed}

    def reasons(self, statuses):
        """What they are, and for each the last reason that was given."""
        return ", ".join(f"{status} {count} ({self.why.get(status, 'no reason')})" for status, count in statuses.items())

    def over_other_than(self, path):
        """Calls that went well elsewhere. (Of some nobody knows: their connection had gone when they were looked at.)"""
        kinds = {said: said.split(":")[0].removesuffix(" via skeind") for said in self.paths}
        return {said: count for said, count in self.paths.items() if kinds[said] not in (path, "none")}


def held(pid):
    """Descriptors, and mappings of shared memory; and what all processes have of RDMA devices, where there are any: the
    kernel only knows which thread made it, and threads end."""
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    holdings = {"descriptors": len(descriptors(pid)), "mappings": sum("memfd:" in line for line in maps)}
    if shutil.which("rdma") and RDMA_DEVICES.exists() and any(RDMA_DEVICES.iterdir()):
        devices = json.loads(subprocess.run(["rdma", "-j", "resource", "show"], check=True, capture_output=True, text=True).stdout)
        holdings.update({what: sum(device[kind] for device in devices) for what, kind in RDMA_OBJECTS.items()})
    return holdings


RDMA_DEVICES = pathlib.Path("/sys/class/infiniband")
RDMA_OBJECTS = {"queue pairs": "qp", "regions": "mr"}


def waits(pid):
    """What each thread is called, whether it runs, and where in the kernel it waits."""
    threads = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
        try:
            name, _, figures = (task / "stat").read_text().partition("(")[2].rpartition(") ")
            threads.append(f"{name} {figures[0]} {(task / 'wchan').read_text()}")
        except OSError:
            pass  # it has ended
    return ", ".join(sorted(threads)) or "it has ended"


def resident_kib(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def go_on(program):
    if not program.ended():
        program.signal(signal.SIGCONT)
