"""The programs of a load: servers, and clients whose every byte is checked."""

import json
import threading
import time

from skeintest.child import Child, Silence, clean_environment

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


class Program(Child):
    """One process of a load (tests/system/load), which answers lines by lines. It uses `path`, or nothing unless `mode` says
    prefer."""

    def __init__(self, build, framework, path, flags, prefix=(), settings=None, mode=None, log=None):
        environment = {**clean_environment("GRPC_"), **PATHS[path], **(settings or {})}
        mode = mode or ("off" if path == "tcp" else "require")
        command = [*prefix, build / f"tests/system/load/{framework}_load", f"--mode={mode}", *flags]
        super().__init__(command, environment, log=log)

    def heap(self):
        """KiB that malloc has given out ("live"), and that it keeps ("free")."""
        return json.loads(self.ask("heap", seconds=PATIENCE))


class Server(Program):
    connections = 1  # at least, once it is in use

    def __init__(self, build, framework, path, address="127.0.0.1:0", flags=(), **how):
        super().__init__(build, framework, path, [f"--serve={address}", *flags], **how)

    def address(self):
        """When it listens."""
        return self.line(START_PATIENCE).removeprefix("listening on ")

    def end_fault(self):
        """What is wrong with how it ends when it is asked to, or ''."""
        status = self.end(PATIENCE)
        return "it did not end" if status is None else f"it ended with {status}" if status else ""


class Client(Program):
    def __init__(self, build, framework, path, addresses, flags=(), **how):
        super().__init__(build, framework, path, [f"--targets={','.join(addresses)}", *flags], **how)
        self.connections = len(addresses)

    def report(self, seconds=PATIENCE):
        """A report for each server, of what has ended since the last (tests/system/load/tally.h)."""
        return json.loads(self.ask("report", seconds=seconds))

    def fork(self, way):
        """It forks, and its child ends that way: by "exec", "_exit", "exit". '', or what else became of the child."""
        return self.ask("fork", way, seconds=PATIENCE)

    def last_report(self, seconds=PATIENCE + 10):
        """Ends the load; the last report, or an error if the process does not end well."""
        self.process.stdin.close()
        reports = self.receive(seconds)
        if (status := self.wait(PATIENCE)) != 0:
            raise Silence(f"{self} ended with {status}")
        return reports


def hindered(build, framework, end, prefix, mode, calls_each):
    """A report of calls by two connections of a client. `end`: "server" or "client", which has `prefix` before its command.
    Of processes that say nothing, or end, it has the reason."""
    how = {"mode": mode, "settings": {"SKEIN_RDMA": "auto"}}
    flags = ["--threads=1", "--connections=2", f"--calls_each={calls_each}", "--hurried=0", "--most_bytes=100000"]
    of_server, of_client = (prefix if end == one else () for one in ("server", "client"))
    try:
        with Server(build, framework, "shm", prefix=of_server, **how) as server:
            with Client(build, framework, "shm", [server.address()], flags, prefix=of_client, **how) as client:
                (report,) = client.receive(PATIENCE)
                return report
    except Silence as why:
        return {"statuses": {}, "paths": {}, "wrong": 0, "why": str(why)}


def went_well(report):
    return set(report["statuses"]) <= FINE and report["statuses"].get("OK", 0) > 0 and report["wrong"] == 0


def as_over_tcp(*hindrance, calls_each):
    """A report with Skein in mode prefer, and whether it is no worse than those without. Some that are hindered fail now and
    then, with Skein or without: one of five tries is to go well, unless one over TCP does not."""
    for _ in range(5):
        report = hindered(*hindrance, "prefer", calls_each)
        if went_well(report) or not went_well(hindered(*hindrance, "off", calls_each)):
            return report, True
    return report, False


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
