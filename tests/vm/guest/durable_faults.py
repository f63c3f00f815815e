"""Faults of tests/faults for services of durable calls, gRPC's counter and Thrift's notebook: disks that are full, a clock
that is set."""

import contextlib
import itertools
import pathlib
import subprocess
import tempfile
import time

import clock
from faults import programs
from processes import await_true, clean_environment

PATIENCE = 60  # seconds
ROOM = 2 << 20  # bytes beside a log
LOG_BYTES = {"grpc": 1 << 20, "thrift": 16 << 20}  # the notebook's is what it is
NO_ROOM = {"grpc": "the redo log is full", "thrift": "the notebook cannot be written"}  # what their callers are told


class Disk:
    """In memory, and small."""

    def __init__(self, size):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self._call("mount", "-t", "tmpfs", "-o", f"size={size}", "none", self.folder)
        self._filler = self.folder / "filler"

    @staticmethod
    def _call(*command):
        subprocess.run(command, check=True)

    def fill(self):
        with self._filler.open("wb", buffering=0) as filler, contextlib.suppress(OSError):
            while True:
                filler.write(bytes(4096))

    def make_room(self):
        self._filler.unlink()

    def remove(self):
        self._call("umount", "-l", self.folder)
        self.folder.rmdir()


class Program:
    """What it says is in a file."""

    def __init__(self, command, environment):
        self._said = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=self._said, stderr=self._said)

    def said(self):
        self._said.seek(0)
        return self._said.read()

    def first_line(self):
        await_true(lambda: "\n" in self.said(), PATIENCE)
        return self.said().split("\n")[0]

    def end(self):
        """The exit status when it has ended by itself, and the last that it said."""
        if not await_true(lambda: self._process.poll() is not None, PATIENCE):
            self.kill()
            raise RuntimeError(f"a program did not end; it said {self.said().splitlines()[-2:]}")
        return self._process.returncode, self.said().splitlines()[-2:]

    def end_soon(self):
        """The same; a caller of the notebook is told."""
        self._process.stdin.close()
        return self.end()

    def kill(self):
        self._process.kill()
        self._process.wait()


class Service:
    """The example's server, and callers."""

    def __init__(self, scene, folder):
        self._framework, self._folder, self._build, self._host = scene.framework, folder, scene.options.build, scene.options.host
        self._server = None
        self._callers = itertools.count()
        self._environment = {**clean_environment("GRPC_"), **programs.PATHS[scene.path], **scene.options.settings}
        self._environment["SKEIN_THRIFT"] = "prefer"

    def _program(self, commands):
        return Program(commands[self._framework], self._environment)

    def start(self):
        """What it says first: where it listens, or why it cannot."""
        log, any_port = self._folder / "log", f"{self._host}:0"
        self._server = self._program({
            "grpc": [self._build / "examples/counter/counter_server", log, any_port, str(LOG_BYTES["grpc"])],
            "thrift": [self._build / "examples/notebook/notebook_server", any_port, log, self._folder / "notebook"],
        })  # fmt: skip
        said = self._server.first_line()
        if said.startswith("listening on "):
            self._address = f"{self._host}:{said.split()[2].rstrip(';')}"
        return said

    def caller(self, calls):
        """The notebook's calls until it is told to end."""
        return self._program({
            "grpc": [self._build / "examples/counter/counter_client", self._address, str(calls)],
            "thrift": [self._build / "tests/process/notebook_caller", self._address, f"c{next(self._callers)}", "skein"],
        })  # fmt: skip

    def stop(self):
        if self._server is not None:
            self._server.kill()


@contextlib.contextmanager
def service_on_disk(scene, size):
    disk = Disk(size)
    service = Service(scene, disk.folder)
    try:
        yield disk, service
    finally:
        service.stop()
        disk.remove()


def no_room_to_start(scene, row):
    """A log that has no room for all its blocks is not begun; the reason is said."""
    row.alone = True
    with service_on_disk(scene, LOG_BYTES[scene.framework] + ROOM) as (disk, service):
        for _ in range(scene.options.times):
            disk.fill()
            said = service.start()
            if "no space for" not in said:
                row.problems.append(f"it says: {said}")
            service.stop()
            disk.make_room()
            if not service.start().startswith("listening"):
                row.problems.append("with room it does not start")
            service.stop()
            (disk.folder / "log").unlink()
            row.times += 1


def call_a_little(service):
    caller = service.caller(100)
    time.sleep(0.2)  # of calls
    return caller.end_soon()


def disk_full(scene, row):
    """The service's own writes fail; then there is room again."""
    row.alone = True
    with service_on_disk(scene, LOG_BYTES[scene.framework] + ROOM) as (disk, service):
        service.start()
        for _ in range(scene.options.times):
            disk.fill()
            status, said = service.caller(1_000_000).end()
            if status != 1 or NO_ROOM[scene.framework] not in said[-1]:
                row.problems.append(f"without room a caller ended with {status}: {said}")
            disk.make_room()
            start = time.monotonic()
            if not await_true(lambda: call_a_little(service)[0] == 0, 30):
                row.problems.append("with room again no caller succeeds")
            row.recoveries.append(time.monotonic() - start)
            row.times += 1
        lines = disk.folder / "notebook"
        torn = [line for line in lines.read_text().splitlines() if line.count("/") != 1] if lines.exists() else []
        if torn:
            row.problems.append(f"lines that are none: {torn[:3]}")


def clock_set_under_durable_calls(scene, row):
    """Calls go on, and none fails."""
    row.alone = True
    with service_on_disk(scene, LOG_BYTES[scene.framework] + ROOM) as (_, service), clock.a_clock_to_set() as set_off:
        service.start()
        callers = [service.caller(200 + 50 * scene.options.times) for _ in range(2)]
        while row.times < scene.options.times:
            scene.pause()
            set_off(clock.some_way(scene.chance))
            row.times += 1
        for caller in callers:
            status, said = caller.end_soon()
            if status != 0:
                row.problems.append(f"a caller ended with {status}: {said}")


FAULTS = {"no-room-to-start": no_room_to_start, "disk-full": disk_full, "clock-set-durable": clock_set_under_durable_calls}
