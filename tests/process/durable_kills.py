"""durable_kills.py --build DIR [--kills N] [--seed N]: the counter's server is killed with SIGKILL at random moments,
while clients add 1 to it by durable calls; in the end its total is what they have added, and each has got its answers in
its order."""

import argparse
import pathlib
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

CLIENTS = 3
CALLS_EACH = 250  # that a client adds between two kills, about
LONGEST_LIFE = 0.3  # seconds


class Server:
    """Killed and started again until it is stopped."""

    def __init__(self, program, folder, kills, chance):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        self.command = [program, folder / "log", f"127.0.0.1:{self.port}"]
        self.kills = kills
        self.killed = 0
        self.chance = chance
        self.errors = open(folder / "errors", "w+", encoding="utf-8")
        self.thread = threading.Thread(target=self.run)
        self.enough = threading.Event()

    def start(self):
        return subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=self.errors, text=True)

    def run(self):
        while self.killed < self.kills and not self.enough.is_set():
            server = self.start()
            # From its first instruction on: also while it recovers, and before it listens.
            self.enough.wait(self.chance.uniform(0.01, LONGEST_LIFE))
            server.kill()
            server.communicate()
            self.killed += 1

    def said(self):
        """What it complained of. Current gRPC logs for information to standard error, too."""
        self.errors.seek(0)
        return "".join(line for line in self.errors if not re.match(r"I\d{4} |WARNING: All log messages before", line))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    print(f"{options.kills} kills, --seed={options.seed}", flush=True)
    counter = options.build / "examples" / "counter"
    began = time.monotonic()
    # Not under /tmp if that is in memory: a kill is what the log must survive there, too, but nobody asks it for more.
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        server = Server(counter / "counter_server", folder, options.kills, random.Random(options.seed))
        server.thread.start()
        calls = CALLS_EACH * options.kills
        address = f"127.0.0.1:{server.port}"
        clients = [
            subprocess.Popen(
                [counter / "counter_client", address, str(calls)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            for _ in range(CLIENTS)
        ]
        server.thread.join()
        last = server.start()  # lives
        answers = [client.communicate(timeout=600)[0].strip() for client in clients]
        last.terminate()
        last.communicate(timeout=30)
        again = server.start()  # what it has on its disk
        again.stdout.readline()
        reader = subprocess.run([counter / "counter_client", address, "1"], capture_output=True, text=True, timeout=60, check=False)
        again.terminate()
        again.communicate(timeout=30)
        total = int(reader.stdout.split()[-1])
        for answer in answers:
            print(answer)
        wrong = [client.returncode for client in clients if client.returncode != 0]
        if wrong or total != CLIENTS * calls + 1 or server.said():
            sys.exit(f"FAILED: total {total} of {CLIENTS * calls + 1}; {server.said()}")
    seconds = time.monotonic() - began
    print(f"{server.killed} kills, {CLIENTS * calls} calls: each executed once, in its client's order, in {seconds:.0f} s")


if __name__ == "__main__":
    main()
