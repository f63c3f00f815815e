"""Hostile processes on the machine: honest calls go on, nothing leaks, and shared memory stays among its owners."""

import collections
import contextlib
import fcntl
import mmap
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import time
import unittest
from test_paths import paths

from skeintest import kernel, probes, proxies
from skeintest.cases import ProcessTest
from skeintest.kernel import held, sockets

F_GET_SEALS = 1034
F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW = 1, 2, 4
ATTACKER = pathlib.Path(__file__).with_name("attacker.py")
SYSTEM_PYTHON = "/usr/bin/python3"  # one that other users may run as well

as_root = unittest.skipUnless(os.geteuid() == 0, "only root can become another user")


class AttackTest(ProcessTest):
    def setUp(self):
        self.seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
        print(f"seed {self.seed}", end=" ", flush=True)

    def attacker(self, *words, prefix=()):
        python = SYSTEM_PYTHON if prefix else sys.executable
        with ATTACKER.open("rb") as program:
            attacker = self.child([*prefix, python, "-", *words])
            attacker.process.stdin.write(program.read())
        attacker.process.stdin.close()
        return attacker

    def assert_honest_calls_survive(self, attacker, client):
        """Calls until the attacker has ended; returns what it counted."""
        connections = client.paths()
        while not attacker.ended():
            self.assert_calls_succeed(client, count=50)
        self.assertEqual(attacker.status, 0)
        self.assert_calls_succeed(client, count=50)
        self.assertEqual(client.paths(), connections, "the honest client lost its connection")
        return int(attacker.line())

    def names(self, program, kind=r"\S+"):
        """Of the program's abstract sockets."""
        return set(re.findall(rf"@(skein-{kind})$", "\n".join(sockets(program.pid)), re.MULTILINE))

    def meeting_point(self, program):
        self.assertTrue(kernel.await_true(lambda: len(self.names(program, "[0-9a-f]{32}")) == 1, 10), program.log())
        (name,) = self.names(program, "[0-9a-f]{32}")
        return name

    def tls_flags(self):
        """The server's and its clients'."""
        certificate, key = self.certificate()
        return [f"--tls_cert={certificate}", f"--tls_key={key}"], [f"--tls_ca={certificate}"]

    def assert_rests(self, program):
        self.assertTrue(
            kernel.await_true(lambda: kernel.cpu_ticks_within(program.pid, 0.5) <= 1, 10),
            kernel.thread_ticks_within(program.pid, 1.0),
        )

    def recorded_offer(self, *flags):
        """What a Skein client says first, to a server that says nothing; and the name that it wants to be met at."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            client = self.unopened_client(f"127.0.0.1:{listening.getsockname()[1]}", flags)
            client.send("open", 1, 1000)
            listening.settimeout(10)  # or for ever, of a client that could not start
            connection, _ = listening.accept()
            with connection:
                connection.settimeout(10)
                offer = proxies.unnoticed(connection.recv(65536))
            name = self.meeting_point(client)
            client.receive()
            client.close()
        return offer, name


class OnThePort(AttackTest):
    def assert_withstands(self, server_flags, client_flags):
        offer, _ = self.recorded_offer(*client_flags)
        server = self.server(server_flags)
        client = self.client(server.address, client_flags)
        self.assert_calls_succeed(client)
        self.assert_path(client, "shm")
        baseline = held(server.pid)
        attacker = self.attacker("tcp", server.address.rsplit(":", 1)[1], self.seed, offer.hex())
        self.assertGreater(self.assert_honest_calls_survive(attacker, client), 300)
        self.assert_holdings_return_to(baseline, server, "descriptors memfds mappings")
        self.assert_rests(server)
        newcomer = self.client(server.address, client_flags)
        self.assert_calls_succeed(newcomer)
        self.assert_path(newcomer, "shm")

    def test_an_insecure_server_withstands_hostile_bytes_at_its_port(self):
        self.assert_withstands([], [])

    def test_a_tls_server_withstands_hostile_bytes_at_its_port(self):
        self.assert_withstands(*self.tls_flags())


class OnTheMeetingPoint(AttackTest):
    def assert_withstands(self, prefix):
        server, client = self.pair()
        self.assert_calls_succeed(client)
        self.assert_path(client, "shm")
        names = self.names(server) | self.names(client)
        attacker = self.attacker("unix", self.seed, *sorted(names), prefix=prefix)
        self.assertGreater(self.assert_honest_calls_survive(attacker, client), 1, "no meeting point was found")
        self.assert_channels_are_served(client)
        self.assert_path(client, "shm")
        self.assert_rests(server)
        self.assert_rests(client)

    def test_a_hostile_process_of_the_same_user_disturbs_no_call(self):
        self.assert_withstands([])

    @as_root
    def test_a_hostile_process_of_another_user_disturbs_no_call(self):
        self.assert_withstands(probes.AS_NOBODY)

    def assert_newcomers_are_served(self, prefix):
        server, client = self.pair()
        self.assert_calls_succeed(client)
        names = self.names(server) | self.names(client)
        attacker = self.attacker("flood", self.seed, *sorted(names), prefix=prefix)
        attacker.line()
        for _ in range(20):
            self.assert_channels_are_served(client)
        self.assertFalse(attacker.ended(), "the flood ended too early")
        for path in client.paths():
            self.assertRegex(path, "^shm$|^tcp: .")
        attacker.kill()
        self.assert_channels_are_served(client)
        self.assert_path(client, "shm")
        self.assert_rests(server)

    def assert_channels_are_served(self, client, count=5):
        client.ask("close")
        self.assertFalse(client.ask("open", count, 10000)["timed_out"], client.log())
        self.assertEqual(client.ask("each", 1000)["statuses"], {"OK": count}, client.log())

    def test_newcomers_are_served_in_a_flood_of_the_same_user(self):
        self.assert_newcomers_are_served([])

    @as_root
    def test_newcomers_are_served_in_a_flood_of_another_user(self):
        self.assert_newcomers_are_served(probes.AS_NOBODY)

    @as_root
    def test_a_queue_that_another_user_has_filled_stops_nobody(self):
        _, client = self.pair()
        attacker = self.attacker("fill", self.meeting_point(client), prefix=probes.AS_NOBODY)
        self.assertGreater(int(attacker.line()), 100)
        self.assert_channels_are_served(client, 1)
        self.assert_path(client, "shm")


@as_root
class OnTheNames(AttackTest):
    """Another user has taken a name before the process that wants it."""

    NAMES = 32  # of each process

    def sitter(self, *names):
        """What is heard at the names, line by line."""
        sitter = self.attacker("sit", *names, prefix=probes.AS_NOBODY)
        self.assertEqual(sitter.line(), "sits")
        return sitter

    def client_without(self, taken):
        """A client for which so many names of its control socket were taken before it ran; and what is heard there."""
        server = self.server()
        client = self.unopened_client(server.address, prefix=["sh", "-c", 'read -r _ && exec "$@"', "sh"])
        heard = self.sitter(*(f"skein-control-{client.pid}-{number}" for number in range(taken)))
        client.send("begin")
        self.assertFalse(client.ask("open", 1, 10000)["timed_out"], client.log())
        self.assert_calls_succeed(client)
        self.assert_path(client, "shm")
        return client, heard

    def test_a_process_listens_at_its_next_name(self):
        client, heard = self.client_without(self.NAMES - 1)
        result = paths(client.pid)
        self.assertEqual((result.returncode, len(result.stdout.splitlines())), (0, 2), result.stderr)
        self.assertEqual([heard.line() for _ in range(self.NAMES - 1)], ["nothing"] * (self.NAMES - 1))

    def test_a_process_without_a_name_is_not_asked(self):
        client, heard = self.client_without(self.NAMES)
        result = paths(client.pid)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn(f"user {probes.NOBODY} listens in the name of process {client.pid}", result.stderr)
        self.assertEqual([heard.line() for _ in range(self.NAMES)], ["nothing"] * self.NAMES)

    def test_a_meeting_point_whose_owner_has_died_is_nobody_elses(self):
        server = self.server()
        offer, name = self.recorded_offer()
        heard = self.sitter(name)
        with socket.create_connection(("127.0.0.1", int(server.address.rsplit(":", 1)[1]))) as connection:
            connection.sendall(offer)
            self.assertEqual(heard.line(), "nothing")
            self.assertTrue(kernel.await_true(server.paths, 10), server.log())
        self.assert_path(server, f"tcp: different user (users 0 and {probes.NOBODY}; ")


class InBetween(AttackTest):
    ROUNDS = 40
    # With the secret of a ring changed, what the client says is no message to the server: a path that swallows all, as
    # TCP may be. It is gRPC who gives up such an attempt to connect, after 20 s if not told otherwise.
    PATIENCE = {"grpc.min_reconnect_backoff_ms": 2000}

    def assert_ends_in_tcp_or_in_an_error(self, server_flags, client_flags):
        server = self.server(server_flags)
        with_client = self.client(server.address, client_flags)
        self.assert_calls_succeed(with_client)
        baseline = held(server.pid)
        proxy = proxies.TamperingProxy(int(server.address.rsplit(":", 1)[1]), self.seed)
        self.addCleanup(proxy.close)
        victim = self.unopened_client(f"127.0.0.1:{proxy.port}", client_flags, arguments=self.PATIENCE,
                                      env={"SKEIN_NEGATIVE_CACHE": "0", "SKEIN_NEGOTIATION_TIMEOUT": "1000"})
        ends = collections.Counter()
        for _ in range(self.ROUNDS):
            victim.ask("open", 1, 0)
            report = victim.ask("wait_call", 15000)
            self.assertLessEqual(set(report["statuses"]), {"OK", "UNAVAILABLE"}, report["message"])
            ends.update(report["statuses"])
            victim.ask("close")
        self.assertGreater(ends["OK"], 0)
        self.assertGreater(proxy.changed, self.ROUNDS // 4)
        victim.close()
        proxy.close()
        self.assert_calls_succeed(with_client)
        self.assert_holdings_return_to(baseline, server, "descriptors memfds mappings")
        self.assert_rests(server)

    def test_tampered_negotiation_ends_in_tcp_or_in_an_error(self):
        self.assert_ends_in_tcp_or_in_an_error([], [])

    def test_tampered_negotiation_under_tls_ends_in_tcp_or_in_an_error(self):
        self.assert_ends_in_tcp_or_in_an_error(*self.tls_flags())


class SharedMemory(AttackTest):
    def shared_memory(self, program):
        """Paths in /proc of the memory that the program has mapped and shares with peers. It keeps no descriptors of it."""
        found = {}
        for mapped in pathlib.Path(f"/proc/{program.pid}/map_files").iterdir():
            with contextlib.suppress(FileNotFoundError):  # unmapped since it was listed
                if "memfd:skein-" in os.readlink(mapped):
                    found[mapped.stat().st_ino] = mapped
        return list(found.values())

    def busy_pair(self):
        server, client = self.pair()
        self.assert_calls_succeed(client, count=20, size=1 << 20)
        self.assert_path(client, "shm")
        found = self.shared_memory(server) + self.shared_memory(client)
        self.assertGreater(len(found), 0, "no shared memory to attack")
        return found

    @as_root
    def test_shared_memory_cannot_shrink(self):
        for path in self.busy_pair():
            fd = os.open(path, os.O_RDWR)
            try:
                wanted = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW
                self.assertEqual(fcntl.fcntl(fd, F_GET_SEALS) & wanted, wanted, os.readlink(path))
                with self.assertRaises(PermissionError):
                    os.ftruncate(fd, 0)
            finally:
                os.close(fd)

    @as_root
    def test_changed_bytes_under_tls_reach_nobody(self):
        server_flags, client_flags = self.tls_flags()
        server = self.server(server_flags)
        client = self.client(server.address, client_flags)
        for writer, reader in enumerate((client, server)):
            self.assert_path(client, "shm")
            connections = len(client.paths())
            client.ask("load", 2, 200_000)
            self.change_payload(reader, writer, until=lambda: len(client.paths()) > connections)
            report = client.ask("unload", "")  # at once
            # UNKNOWN is gRPC's word for a connection that its client has found broken.
            self.assertLess({"OK"}, set(report["statuses"]), "no call has ended for it")
            self.assertLessEqual(set(report["statuses"]), {"OK", "UNAVAILABLE", "UNKNOWN"}, report["message"])
            self.assertIn("Decryption error", reader.log())

    def change_payload(self, program, writer, until):
        """Flips bits in what the writer (0: the accepting end, 1: the other) has in its queue, for 10 s at most."""
        rng = random.Random(self.seed)
        with contextlib.ExitStack() as opened:
            regions = [opened.enter_context(self.mapped(path)) for path in self.shared_memory(program)]
            end = time.monotonic() + 10
            while not until():
                self.assertLess(time.monotonic(), end, "nobody has seen that bytes have changed")
                for _ in range(100):
                    region = rng.choice(regions)
                    # A page of control words, then a queue each way (core/channel/shm/layout.h).
                    queue = (len(region) - mmap.PAGESIZE) // 2
                    at = mmap.PAGESIZE + writer * queue + rng.randrange(64, queue - 64)
                    # Among many others: no length, and nothing that has been read, which is zeros.
                    if region[at - 64 : at + 64].count(0) < 16:
                        region[at] ^= 1 << rng.randrange(8)

    @staticmethod
    @contextlib.contextmanager
    def mapped(path):
        with path.open("r+b", buffering=0) as file, mmap.mmap(file.fileno(), 0) as memory:
            yield memory

    @as_root
    def test_another_user_cannot_open_shared_memory(self):
        for path in self.busy_pair():
            script = f"import os; os.open({str(path)!r}, os.O_RDONLY)"
            attempt = subprocess.run(
                [*probes.AS_NOBODY, SYSTEM_PYTHON, "-c", script], capture_output=True, text=True
            )
            self.assertIn("PermissionError", attempt.stderr)
