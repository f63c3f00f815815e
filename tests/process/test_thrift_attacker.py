"""Hostile processes at the port of a Thrift server: honest calls go on, and nothing stays."""

import pathlib
import socket
import sys

import harness
import test_attacker

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "load"))

import programs  # noqa: E402
from processes import await_true  # noqa: E402


class OnThePort(test_attacker.AttackTest):
    def start(self, kind, *words, **how):
        program = kind(harness.binary("probe_server").parents[2], "thrift", "shm", *words, **how)
        self.addCleanup(program.close_pipes)
        self.addCleanup(program.process.wait)
        self.addCleanup(program.process.kill)
        return program

    def callers(self, address):
        """Each of their connections is given up for another one after some calls."""
        return self.start(programs.Client, [address], ["--calls_each=50", "--most_bytes=10000", "--deadline=10s"])

    def assert_served(self, client):
        """That calls go on, and well."""
        calls = programs.Sum()
        self.assertTrue(await_true(lambda: calls.add(client.report()[0]), 15), calls.statuses)
        self.assert_fine(calls)

    def assert_fine(self, calls):
        self.assertEqual(calls.other_than(programs.FINE), {})
        self.assertEqual((calls.wrong, calls.over_other_than("shm")), (0, {}), calls.what)

    def stop(self, client):
        calls = programs.Sum()
        calls.add(client.stop()[0])
        self.assert_fine(calls)

    def recorded_hello(self):
        with socket.create_server(("127.0.0.1", 0)) as listening:
            client = self.callers(f"127.0.0.1:{listening.getsockname()[1]}")
            connection, _ = listening.accept()
            with connection:
                hello = connection.recv(65536)
            client.kill()
        return hello

    def assert_withstands(self, attack, mode):
        server = self.start(programs.Server, mode=mode)
        address = server.address()
        client = self.callers(address)
        self.assert_served(client)
        self.stop(client)
        self.assert_rests(server)
        baseline = harness.holdings(server.pid)
        attacker = self.attacker(attack, address.rsplit(":", 1)[1], self.seed, self.recorded_hello().hex())
        client = self.callers(address)
        while attacker.poll() is None:
            self.assert_served(client)
        self.assertEqual(attacker.returncode, 0)
        self.assertGreater(int(attacker.stdout.read()), 300)
        self.stop(client)
        self.assert_holdings_return_to(baseline, server, "fds memfds maps threads")
        self.assert_rests(server)
        self.assertEqual(server.stop(), 0)

    def test_server_that_requires_skein(self):
        self.assert_withstands("tcp", mode="require")

    # What is not Skein's goes to Thrift, which takes the first bytes for the length of a name, and has memory for it.
    def test_server_that_takes_others_too(self):
        self.assert_withstands("hello", mode="prefer")
