"""Hostile processes at the port of a Thrift server: honest calls go on, and nothing stays."""

import socket

import harness
import test_attacker
from loads import ThriftLoads, programs


class OnThePort(ThriftLoads, test_attacker.AttackTest):
    def assert_served(self, client):
        """That calls go on, and well."""
        self.assertEqual(self.served(client).over_other_than("shm"), {})

    def stop(self, client):
        calls = programs.Sum()
        calls.add(client.stop()[0])
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
