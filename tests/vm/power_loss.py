#!/usr/bin/env python3
"""Cuts the power of a virtual machine, again and again, in which durable calls are made; its disk is all that is kept.

The client dies with the machine, so its last calls are in doubt: what it knew to be persisted must be in the server's total
when that is back, and besides no more than it had under way.
"""

import argparse
import pathlib
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent
DISK_MIB = 64
UNDER_WAY = 32  # as guest/power.sh has it


def parse_arguments():
    root = SOURCE.parents[1]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=root / "build/dev", help="build folder (%(default)s)")
    parser.add_argument("--cuts", type=int, default=10, help="how often (%(default)s)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    return parser.parse_args()


def make_disk(path):
    with path.open("wb") as disk:
        disk.truncate(DISK_MIB << 20)
    subprocess.run(["/sbin/mkfs.ext4", "-q", "-F", path], check=True)


def last_number(path):
    """Of the last line that is whole."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return int(lines[-1]) if lines else 0


class Machine:
    """On until its power is cut."""

    def __init__(self, build, disk):
        self.results = build.parent / "vm" / "results" / "power"
        shutil.rmtree(self.results, ignore_errors=True)  # the last machine's
        command = [SOURCE / "vm.sh", "-q", "-n", "power", "-t", "120", "-d", disk, "--", SOURCE / "guest" / "power.sh", build]
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def wait_for_calls(self):
        """Until some are persisted; then the server has recovered, and said what it had."""
        journal = self.results / "journal"
        while not (journal.exists() and journal.stat().st_size > 0):
            if self.process.poll() is not None:
                sys.exit(f"FAILED: the machine has ended by itself:\n{self.process.stderr.read()}")
            time.sleep(0.05)  # another machine's file: nothing here tells when it comes

    def total_before(self):
        """Of what was there when it came up; the one call that asked for it is not counted."""
        return int((self.results / "first").read_text(encoding="utf-8").split()[-1]) - 1

    def cut(self):
        """Whether it was on."""
        kill = ["pkill", "-KILL", "-f", "--", f"qemu-system.*{shlex.quote(str(self.results))}"]
        was_on = subprocess.run(kill, check=False).returncode == 0
        self.process.communicate(timeout=60)
        return was_on

    def persisted(self):
        return last_number(self.results / "journal")


def main():
    options = parse_arguments()
    chance = random.Random(options.seed)
    print(f"{options.cuts} cuts, --seed={options.seed}", flush=True)
    began = time.monotonic()
    known = 0  # in the total, whatever happens
    possible = 0  # at most in it
    with tempfile.TemporaryDirectory(dir=options.build) as folder:
        disk = pathlib.Path(folder) / "disk"
        make_disk(disk)
        for cut in range(options.cuts + 1):
            machine = Machine(options.build.resolve(), disk)
            try:
                machine.wait_for_calls()
                total = machine.total_before()
                if not known <= total <= possible:
                    sys.exit(f"FAILED: total {total}, but {known} were acknowledged and {possible} possible")
                if cut > 0:
                    print(f"cut {cut}: total {total}, acknowledged {known}", flush=True)
                time.sleep(chance.uniform(0, 2))  # the moment is chance
            finally:
                was_on = machine.cut()
            if not was_on:
                sys.exit("FAILED: the machine had ended by itself")
            known = total + 1 + machine.persisted()
            possible = known + UNDER_WAY
    print(f"{options.cuts} cuts: nothing acknowledged was lost, in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    main()
