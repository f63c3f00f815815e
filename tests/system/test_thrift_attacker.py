"""Hostile processes at the port of a Thrift server: honest calls go on, and nothing stays."""

import socket

import test_attacker
from skeintest import loads
from skeintest.cases import LoadTest
from skeintest.kernel import held

class OnThePort(LoadTest, test_attacker.AttackTest):
    def assert_served(self, client):
        """That calls go on, and well."""
        self.assertEqual(self.served(client).over_other_than("shm"), {})

    def stop(self, client):
        calls = loads.Sum()
        calls.add(client.last_report()[0])
        self.assert_fine(calls)
        self.assertEqual(calls.over_other_than("shm"), {})

    def recorded_hello(self):
        with socket.create_server(("127.0.0.1", 0)) as listening:
            client = self.callers(f"127.0.0.1:{listening.getsockname()[1]}")
            connection, _ = listening.accept()
            with connection:
                hello = connection.recv(65536)
            client.kill()
        return hello

    def assert_withstands(self, attack, mode):
        server = self.start(loads.Server, mode=mode)
        address = server.address()
        client = self.callers(address)
        self.assert_served(client)
        self.stop(client)
        self.assert_rests(server)
        baseline = held(server.pid)
        attacker = self.attacker(attack, address.rsplit(":", 1)[1], self.seed, self.recorded_hello().hex())
        client = self.callers(address)
        while not attacker.ended():
            self.assert_served(client)
        self.assertEqual(attacker.status, 0)
        self.assertGreater(int(attacker.line()), 300)
        self.stop(client)
        self.assert_holdings_return_to(baseline, server, "descriptors memfds mappings threads")
        self.assert_rests(server)
        self.assertEqual(server.end_fault(), "")

    def test_a_server_that_requires_skein_withstands_hostile_bytes(self):
        self.assert_withstands("tcp", mode="require")

    # What is not Skein's goes to Thrift, which takes the first bytes for the length of a name, and has memory for it.
    def test_a_server_that_takes_others_too_withstands_hostile_hellos(self):
        self.assert_withstands("hello", mode="prefer")
