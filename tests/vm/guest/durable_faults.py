"""Faults of tests/system/faults for services of durable calls, gRPC's counter and Thrift's notebook: disks that are full, a clock
that is set."""

import contextlib
import pathlib
import subprocess
import tempfile
import time

import clock
from skeintest import durable, loads
from skeintest.kernel import await_true

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


def end_of(caller):
    """The exit status when it has ended by itself, and the last that it said."""
    return caller.wait(PATIENCE), caller.log().splitlines()[-2:]


def end_soon(caller):
    """The same; a caller of the notebook is told."""
    return caller.end(PATIENCE), caller.log().splitlines()[-2:]


@contextlib.contextmanager
def service_on_disk(scene, size):
    disk = Disk(size)
    settings = {**loads.PATHS[scene.path], **scene.options.settings, "SKEIN_THRIFT": "prefer"}
    service = durable.Service(scene.options.build, scene.framework, disk.folder, host=scene.options.host, settings=settings,
                              log_bytes=LOG_BYTES["grpc"])  # fmt: skip
    try:
        yield disk, service
    finally:
        service.close()
        disk.remove()


def no_room_to_start(scene, row):
    """A log that has no room for all its blocks is not begun; the reason is said."""
    row.alone = True
    with service_on_disk(scene, LOG_BYTES[scene.framework] + ROOM) as (disk, service):
        for _ in range(scene.options.times):
            disk.fill()
            said = service.start_and_listen()
            if "no space for" not in said:
                row.problems.append(f"it says: {said}")
            service.server.kill()
            disk.make_room()
            if not service.start_and_listen().startswith("listening"):
                row.problems.append("with room it does not start")
            service.server.kill()
            (disk.folder / "log").unlink()
            row.times += 1


def call_a_little(service):
    caller = service.caller(100)
    time.sleep(0.2)  # of calls
    return end_soon(caller)


def disk_full(scene, row):
    """The service's own writes fail; then there is room again."""
    row.alone = True
    with service_on_disk(scene, LOG_BYTES[scene.framework] + ROOM) as (disk, service):
        service.start_and_listen()
        for _ in range(scene.options.times):
            disk.fill()
            status, said = end_of(service.caller(1_000_000))
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
        service.start_and_listen()
        callers = [service.caller(200 + 50 * scene.options.times) for _ in range(2)]
        while row.times < scene.options.times:
            scene.pause()
            set_off(clock.some_way(scene.chance))
            row.times += 1
        for caller in callers:
            status, said = end_soon(caller)
            if status != 0:
                row.problems.append(f"a caller ended with {status}: {said}")


FAULTS = {"no-room-to-start": no_room_to_start, "disk-full": disk_full, "clock-set-durable": clock_set_under_durable_calls}
