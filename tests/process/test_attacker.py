"""Hostile processes on the machine: honest calls go on, nothing leaks, and shared memory stays among its owners."""

import fcntl
import os
import pathlib
import random
import socket
import subprocess
import sys
import unittest

import harness
import tampering_proxy

F_GET_SEALS = 1034
F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW = 1, 2, 4
ATTACKER = pathlib.Path(__file__).with_name("attacker.py")
SYSTEM_PYTHON = "/usr/bin/python3"  # one that other users may run as well


class AttackTest(harness.ProcessTest):
    def setUp(self):
        self.seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
        print(f"seed {self.seed}", end=" ", flush=True)

    def attacker(self, *words, prefix=()):
        python = SYSTEM_PYTHON if prefix else sys.executable
        process = subprocess.Popen(
            [*prefix, python, "-", *(str(word) for word in words)], stdin=ATTACKER.open(), stdout=subprocess.PIPE
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def assert_honest_calls_survive(self, attacker, client):
        """Calls until the attacker has ended; returns what it counted."""
        connections = client.paths()
        while attacker.poll() is None:
            self.assert_calls_succeed(client, count=50)
        self.assertEqual(attacker.returncode, 0)
        self.assert_calls_succeed(client, count=50)
        self.assertEqual(client.paths(), connections, "the honest client lost its connection")
        return int(attacker.stdout.read())

    def assert_rests(self, program):
        self.assertTrue(
            harness.await_true(lambda: harness.cpu_ticks_within(program.pid, 0.5) <= 1, 10),
            harness.thread_ticks_within(program.pid, 1.0),
        )

    def recorded_offer(self, *flags):
        """What a Skein client says first, recorded by a server that says nothing."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            client = self.unopened_client(f"127.0.0.1:{listening.getsockname()[1]}", flags)
            client.send("open", 1, 1000)
            connection, _ = listening.accept()
            with connection:
                connection.settimeout(10)
                offer = connection.recv(65536)
            client.receive()
            client.close()
        return offer.hex()


class OnThePort(AttackTest):
    def assert_withstands(self, server_flags, client_flags, offers):
        server = self.server(server_flags)
        client = self.client(server.address, client_flags)
        self.assert_calls_succeed(client)
        self.assert_path(client, "shm")
        baseline = harness.holdings(server.pid)
        attacker = self.attacker("tcp", server.address.rsplit(":", 1)[1], self.seed, *offers)
        self.assertGreater(self.assert_honest_calls_survive(attacker, client), 300)
        self.assert_holdings_return_to(baseline, server, "fds memfds maps")
        self.assert_rests(server)
        newcomer = self.client(server.address, client_flags)
        self.assert_calls_succeed(newcomer)
        self.assert_path(newcomer, "shm")

    def test_insecure_server(self):
        self.assert_withstands([], [], [self.recorded_offer()])

    def test_tls_server(self):
        certificate, key = self.certificate()
        server_flags = [f"--tls_cert={certificate}", f"--tls_key={key}"]
        client_flags = [f"--tls_ca={certificate}"]
        self.assert_withstands(server_flags, client_flags, [self.recorded_offer(*client_flags)])


class OnTheMeetingPoint(AttackTest):
    def assert_withstands(self, prefix):
        server, client = self.pair()
        self.assert_calls_succeed(client)
        self.assert_path(client, "shm")
        attacker = self.attacker("unix", self.seed, prefix=prefix)
        self.assertGreater(self.assert_honest_calls_survive(attacker, client), 0, "no meeting point was found")
        client.ask("close")
        self.assertFalse(client.ask("open", 5, 10000)["timed_out"], client.log())
        self.assertEqual(client.ask("each", 1000)["statuses"], {"OK": 5}, client.log())
        self.assert_path(client, "shm")
        self.assert_rests(server)
        self.assert_rests(client)

    def test_process_of_the_same_user(self):
        self.assert_withstands([])

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_process_of_another_user(self):
        self.assert_withstands(harness.AS_NOBODY)


class InBetween(AttackTest):
    ROUNDS = 40

    def test_tampered_negotiation_ends_in_tcp_or_in_an_error(self):
        server = self.server()
        with_client = self.client(server.address)
        self.assert_calls_succeed(with_client)
        baseline = harness.holdings(server.pid)
        proxy = tampering_proxy.TamperingProxy(int(server.address.rsplit(":", 1)[1]), self.seed)
        self.addCleanup(proxy.close)
        victim = self.unopened_client(f"127.0.0.1:{proxy.port}")
        for _ in range(self.ROUNDS):
            victim.ask("open", 1, 0)
            report = victim.ask("wait_call", 1000)
            self.assertLessEqual(set(report["statuses"]), {"OK", "UNAVAILABLE", "DEADLINE_EXCEEDED"}, report["message"])
            victim.ask("close")
        self.assertGreater(proxy.changed, self.ROUNDS // 4)
        victim.close()
        proxy.close()
        self.assert_calls_succeed(with_client)
        self.assert_holdings_return_to(baseline, server, "fds memfds maps")
        self.assert_rests(server)


class SharedMemory(AttackTest):
    def memfds(self, program):
        """Paths of the program's memfds in /proc."""
        folder = pathlib.Path(f"/proc/{program.pid}/fd")
        return [fd for fd in folder.iterdir() if "memfd:skein-" in os.readlink(fd)]

    def busy_pair(self):
        server, client = self.pair()
        self.assert_calls_succeed(client, count=20, size=1 << 20)
        self.assert_path(client, "shm")
        found = self.memfds(server) + self.memfds(client)
        self.assertGreater(len(found), 0, "no descriptor of shared memory to attack")
        return found

    def test_cannot_shrink(self):
        for path in self.busy_pair():
            fd = os.open(path, os.O_RDWR)
            try:
                wanted = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW
                self.assertEqual(fcntl.fcntl(fd, F_GET_SEALS) & wanted, wanted, os.readlink(path))
                with self.assertRaises(PermissionError):
                    os.ftruncate(fd, 0)
            finally:
                os.close(fd)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_another_user_cannot_open_it(self):
        for path in self.busy_pair():
            script = f"import os; os.open({str(path)!r}, os.O_RDONLY)"
            attempt = subprocess.run(
                [*harness.AS_NOBODY, SYSTEM_PYTHON, "-c", script], capture_output=True, text=True
            )
            self.assertIn("PermissionError", attempt.stderr)
