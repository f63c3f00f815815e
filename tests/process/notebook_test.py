"""notebook_test.py BUILD [KILLS]: a server of durable Thrift calls is killed at any moment, again and again, while clients
call. At the end no call is lost that a client knew to be safe, none is done twice or out of its client's order, and none
that was answered is executed again."""

import collections
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from processes import await_true, clean_environment  # noqa: E402

KILLS = int(sys.argv.pop(2)) if len(sys.argv) > 2 else 10
BUILD = pathlib.Path(sys.argv.pop(1))
LONGEST_LIFE = 0.2  # seconds of a server, from its start; also before it listens, and while it replays
CLIENT_EVERY = 10  # kills of the server, one of a client


class Server:
    def __init__(self, folder):
        self.folder = folder
        self.said = folder / "server"  # in its last life
        self.port = 0
        self.process = None

    def start(self):
        command = [BUILD / "examples/notebook/notebook_server", f"127.0.0.1:{self.port}", self.folder / "log",
                   self.folder / "notebook"]  # fmt: skip
        with self.said.open("wb") as output:
            self.process = subprocess.Popen(command, env=clean_environment(), stdout=output)

    def start_for_the_first_time(self):
        self.start()
        assert await_true(lambda: self.said.read_text().endswith("\n"), 20), "the server does not listen"
        self.port = int(re.match(r"listening on (\d+);", self.said.read_text())[1])

    def kill(self):
        """Returns what it has executed again."""
        if self.process.poll() is not None:
            raise AssertionError(f"the server has ended by itself with {self.process.returncode}")
        self.process.kill()
        self.process.wait()
        return [line.split()[1] for line in self.said.read_text().splitlines() if line.startswith("again ")]


class Client:
    def __init__(self, folder, name, carrier, port):
        self.said = folder / name
        with self.said.open("wb") as output:
            self.process = subprocess.Popen(
                [BUILD / "tests/process/notebook_caller", f"127.0.0.1:{port}", name, carrier],
                env=clean_environment(), stdin=subprocess.PIPE, stdout=output)  # fmt: skip

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()

    def finish(self):
        self.process.stdin.close()
        return self.process.wait(60)

    def events(self):
        """Lines as words; the last one may be torn when it was killed."""
        return [line.split() for line in self.said.read_text().split("\n")[:-1]]


class Killed(unittest.TestCase):
    def test_loses_nothing_that_was_safe_and_repeats_nothing(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        folder = pathlib.Path(scratch.name)
        chance = random.Random(KILLS)
        server = Server(folder)
        server.start_for_the_first_time()
        self.addCleanup(lambda: (server.process.kill(), server.process.wait()))
        clients = [Client(folder, f"c{i}", carrier, server.port) for i, carrier in enumerate(("tcp", "skein", "skein"))]
        self.addCleanup(lambda: [client.kill() for client in clients])
        living = list(clients)
        again = []  # (call, when the server was started that did it)
        for kill in range(KILLS):
            started = time.monotonic_ns()
            if kill > 0:
                server.start()
            time.sleep(chance.uniform(0, LONGEST_LIFE))  # the moment of the kill
            again += [(call, started) for call in server.kill()]
            if kill % CLIENT_EVERY == CLIENT_EVERY - 1:
                victim = living.pop(chance.randrange(len(living)))
                victim.kill()
                living.append(Client(folder, f"c{len(clients)}", "skein", server.port))
                clients.append(living[-1])
        server.start()
        started = time.monotonic_ns()
        for client in living:
            self.assertEqual(client.finish(), 0)
        again += [(call, started) for call in server.kill()]
        self.judge(folder, clients, living, again)

    def judge(self, folder, clients, living, again):
        places = collections.defaultdict(list)  # in the notebook, by call
        order = collections.defaultdict(list)  # of a client's calls
        for number, line in enumerate((folder / "notebook").read_text().splitlines(), 1):
            call = line.split(" ", 1)[1]
            places[call].append(number)
            order[call.split("-")[0]].append(int(call.split("-")[1]))
        twice = [call for call, numbers in places.items() if len(numbers) > 1]
        lost, wrong, answered_twice, answers = [], [], [], {}
        safe = calls = 0
        for client in clients:
            events = client.events()
            for event in events:
                if event[0] == "persisted":
                    safe += 1
                    lost += [event[1]] if event[1] not in places else []
                elif event[0] == "reply":
                    answered_twice += [event[1]] if event[1] in answers else []
                    answers[event[1]] = int(event[2])
                    wrong += [event[1]] if places[event[1]] != [int(event[3])] else []
            if client in living:
                self.assertEqual(events[-1][0], "done")
                calls += int(events[-1][1])
                self.assertEqual(sum(event[0] == "persisted" for event in events), int(events[-1][1]))
        executed_after_answer = [call for call, started in again if answers.get(call, started) < started]
        out_of_order = [name for name, sequences in order.items() if sequences != list(range(1, len(sequences) + 1))]
        print(f"kills {KILLS}, clients {len(clients)}, calls safe {safe} (of clients that lived to the end: {calls} of "
              f"{calls}), answered {len(answers)}, lines {len(order) and sum(map(len, order.values()))}; "
              f"lost {len(lost)}, written twice {len(twice)}, answered twice {len(answered_twice)}, wrong answers "
              f"{len(wrong)}, out of order {len(out_of_order)}, handlers run again {len(again)}, of these after their "
              f"answer {len(executed_after_answer)}")  # fmt: skip
        self.assertEqual((lost, twice, answered_twice, wrong, out_of_order, executed_after_answer),
                         ([], [], [], [], [], []))  # fmt: skip
        self.assertGreater(safe, 10 * KILLS, "hardly anything was called")


if __name__ == "__main__":
    unittest.main()
