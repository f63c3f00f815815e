"""A skeind of this guest, for Python tests whose processes use RDMA through it; service.sh, a shell test, starts its own."""

import os
import pathlib
import signal

from skeintest import guests, loads
from skeintest.child import Child

FOLDER = pathlib.Path("/run/skeind")
SETTINGS = {**guests.SETTINGS, "SKEIN_RDMA_SERVICE": str(FOLDER), "SKEIN_RDMA_RETRY_DELAY": "500"}


class Skeind:
    def __init__(self, build):
        # As its unit has it: all wait for it, and most of them spin.
        self._command = ["nice", "-n", "-10", build / "tools/skeind/skeind", "--folder", FOLDER, "--device", "rxe0"]
        self._log = guests.RESULTS / f"skeind-{guests.ROLE}.log"
        self._child = None
        FOLDER.mkdir(parents=True, exist_ok=True)

    def start(self):
        """Returns when it serves."""
        self._child = Child(self._command, {**os.environ, **SETTINGS}, log=self._log, talks=False)
        self._child.await_log("serves")

    def freeze(self):
        self._child.freeze()

    def go_on(self):
        self._child.go_on()

    def kill(self):
        self._child.close()

    def ends_well(self):
        """Asks it to end; whether it does, with status 0."""
        fault = self._child.stop_fault(20, signal.SIGTERM)
        if fault:
            print(f"FAILED: skeind: {fault}: {self._child.log()}")
        return not fault


def give_rdma(build):
    """From now on the programs that this process starts have no RDMA but through a skeind of this guest, which is returned."""
    one = Skeind(build)
    one.start()
    loads.PATHS["rdma"] = {"SKEIN_SHM": "off", "SKEIN_RDMA": "service"}
    guests.SETTINGS.update(SETTINGS)
    return one
