"""A skeind of this guest, for Python tests whose processes use RDMA through it; service.sh, a shell test, starts its own."""

import os
import pathlib
import subprocess

import guests
from guests import programs

FOLDER = pathlib.Path("/run/skeind")
SETTINGS = {**guests.SETTINGS, "SKEIN_RDMA_SERVICE": str(FOLDER), "SKEIN_RDMA_RETRY_DELAY": "500"}


class Skeind:
    def __init__(self, build):
        # As its unit has it: all wait for it, and most of them spin.
        self._command = ["nice", "-n", "-10", build / "tools/skeind/skeind", "--folder", FOLDER, "--device", "rxe0"]
        self._log = guests.RESULTS / f"skeind-{guests.ROLE}.log"
        self._process = None
        FOLDER.mkdir(parents=True, exist_ok=True)

    def start(self):
        """Returns when it serves."""
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, env={**os.environ, **SETTINGS})
        guests.wait_until(lambda: "serves" in self._log.read_text() or self._ended(), 30, "skeind serves")
        if self._ended():
            raise RuntimeError(f"skeind ended with {self._process.returncode}: {self._log.read_text()}")

    def _ended(self):
        return self._process.poll() is not None

    def signal(self, number):
        self._process.send_signal(number)

    def kill(self):
        self._process.kill()
        self._process.wait()

    def ends_well(self):
        """Asks it to end; whether it does, with status 0."""
        self._process.terminate()
        status = self._process.wait(20)
        if status != 0:
            print(f"FAILED: skeind ended with {status}: {self._log.read_text()}")
        return status == 0


def give_rdma(build):
    """From now on the programs that this process starts have no RDMA but through a skeind of this guest, which is returned."""
    one = Skeind(build)
    one.start()
    programs.PATHS["rdma"] = {"SKEIN_SHM": "off", "SKEIN_RDMA": "service"}
    guests.SETTINGS.update(SETTINGS)
    return one
