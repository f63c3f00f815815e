"""skeind as a program: who may begin where one serves already, what systemd passes it, and what the skein command says
of it. Here it has no RDMA device, which none of that needs."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from skeintest import probes
from skeintest.child import PATIENCE, Child, clean_environment
from skeintest.kernel import await_true, free_ports

# sd_listen_fds(3): the first descriptor is 3, and the process's own number is said.
AS_SYSTEMD = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
"""


class Skeind(Child):
    """One that serves `folder`; systemd's socket, if it is to have one, is `passed`."""

    def __init__(self, test, folder, *options, passed=None):
        command = [probes.tool("skeind"), "--folder", folder, "--listen", "127.0.0.1", *options]
        if passed is not None:
            command = [sys.executable, "-c", AS_SYSTEMD, passed.fileno(), *command]
        super().__init__(command, talks=False, pass_fds=[] if passed is None else [passed.fileno()])
        test.addCleanup(self.close)
        self.folder = folder
        await_true(lambda: "serves" in self.log() or self.ended(), PATIENCE)
        self.serves = not self.ended()


def skein(*arguments, **variables):
    return probes.skein(*arguments, env=clean_environment() | variables)


class SkeindTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(dir="/tmp")
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        self.path = pathlib.Path(scratch.name) / "skeind.sock"
        self.port, self.other_port = free_ports(2)

    def begin(self, *options, **more):
        skeind = Skeind(self, self.folder, "--port", self.port, *options, **more)
        self.assertTrue(skeind.serves, skeind.log())
        return skeind

    def connect(self):
        process = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(process.close)
        process.settimeout(20)
        process.connect(str(self.path))
        return process

    def served(self):
        """A connection that skeind has taken: it takes them in their order, and has answered a later one."""
        process = self.connect()
        self.doctor()
        return process

    def doctor(self, **variables):
        result = skein("doctor", "--json", SKEIN_RDMA_SERVICE=self.folder, **variables)
        return [finding for finding in json.loads(result.stdout) if "skeind" in finding["fact"]], result.returncode


class Beginning(SkeindTest):
    def test_a_second_one_is_refused(self):
        first = self.begin()
        second = Skeind(self, self.folder, "--port", self.other_port)
        self.assertFalse(second.serves)
        self.assertEqual(second.wait(), 1)
        self.assertIn(f"another skeind, process {first.pid}, listens at {self.path}", second.log())
        self.connect()
        self.assertEqual(first.stop(number=signal.SIGTERM), 0)

    def test_two_at_one_port_are_refused_and_nothing_is_taken_away(self):
        self.begin()
        with tempfile.TemporaryDirectory(dir="/tmp") as other:
            second = Skeind(self, other, "--port", self.port)
            self.assertFalse(second.serves)
            second.wait()
            self.assertIn("--port takes another", second.log())
            self.assertEqual(list(pathlib.Path(other).iterdir()), [])

    def test_what_a_killed_one_left_is_in_nobodys_way(self):
        self.begin().kill()
        self.assertTrue(self.path.is_socket())
        with self.assertRaises(ConnectionRefusedError):
            self.connect()
        self.begin()
        self.connect()

    def test_a_second_one_replaces_the_first_when_told(self):
        first = self.begin()
        process = self.served()
        second = self.begin("--replace")
        self.assertEqual(first.wait(), 0)
        self.assertIn(f"process {second.pid}", self.doctor()[0][0]["fact"], "the kernel knows who listens now")
        self.assertEqual(process.recv(1), b"", "the first has let go of its session")
        self.connect()
        with socket.create_connection(("127.0.0.1", self.port)):
            pass
        self.assertEqual(second.stop(number=signal.SIGTERM), 0)

    def test_one_that_is_stopped_is_not_replaced(self):
        first = self.begin()
        first.freeze()
        second = Skeind(self, self.folder, "--port", self.port, "--replace")
        self.assertFalse(second.serves)
        self.assertEqual(second.wait(), 1)
        self.assertIn(f"skeind {first.pid} does not answer", second.log())
        first.go_on()
        self.connect()
        self.assertFalse(first.ended(), "it serves on")


class Words(SkeindTest):
    def test_a_wrong_call_is_refused_with_its_reason(self):
        for words, why in (
            (["--bogus"], "--bogus"),
            (["--port", "99999"], "--port: .*99999.* 0 .* 65535"),
            (["--port", "x"], "--port: .*x"),
            (["--address", "host"], "--address: 'host' is no IP address"),
        ):
            with self.subTest(words):
                skeind = Skeind(self, self.folder, *words)
                self.assertEqual(skeind.wait(), 2)
                self.assertRegex(skeind.log(), why)

    def test_help_and_the_version_are_no_failure(self):
        for word in ("--help", "--version"):
            for mtu in ("1024", "7"):  # the second is none
                skeind = subprocess.run([probes.tool("skeind"), word], env=clean_environment() | {"SKEIN_RDMA_MTU": mtu},
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
                self.assertEqual(skeind.returncode, 0, skeind.stdout)


class Systemd(SkeindTest):
    """systemd has the socket, and passes each skeind that it starts a copy."""

    def setUp(self):
        super().setUp()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(self.socket.close)
        self.socket.bind(str(self.path))
        self.socket.listen()

    def test_a_restart_keeps_the_socket(self):
        inode = self.path.stat().st_ino
        first = self.begin(passed=self.socket)
        served = self.served()
        first.stop(number=signal.SIGTERM)
        self.assertEqual(served.recv(1), b"")
        waits = self.connect()  # while none serves
        second = self.begin(passed=self.socket)
        waits.send(b"no request")
        self.assertEqual(waits.recv(1), b"", "the second has taken it, and does not understand it")
        self.assertEqual(self.path.stat().st_ino, inode)
        self.assertIn(f"process {second.pid}", self.doctor()[0][0]["fact"], "and not systemd")

    def test_replace_is_refused_where_systemd_has_the_socket(self):
        skeind = Skeind(self, self.folder, "--replace", passed=self.socket)
        self.assertFalse(skeind.serves)
        skeind.wait()
        self.assertIn("systemctl restart", skeind.log())


class Seen(SkeindTest):
    def test_top_and_metrics_tell_of_its_clients(self):
        skeind = self.begin()
        process = self.connect()
        result = skein("top", "--service", "--json", "--rounds", 1, "--interval", 0.1, skeind.pid)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        (activity,) = json.loads(result.stdout)
        self.assertEqual(activity["process"], skeind.pid)
        self.assertEqual([int(client["client"]) for client in activity["clients"]], [os.getpid()])
        process.close()
        self.assertIn("skein_service_turns_total", skein("metrics", skeind.pid).stdout)
        self.assertEqual(skein("top", "--queue-pairs").returncode, 2)

    def test_top_names_one_that_is_stopped_beside_one_that_answers(self):
        answers = self.begin()
        with tempfile.TemporaryDirectory(dir="/tmp") as other:
            silent = Skeind(self, other, "--port", self.other_port)
            self.assertTrue(silent.serves, silent.log())
            silent.freeze()
            result = skein("top", "--service", "--json", "--rounds", 1, "--interval", 0.1)
        self.assertIn(answers.pid, [activity["process"] for activity in json.loads(result.stdout)])
        self.assertIn(f"skein top: process {silent.pid} does not answer; is it stopped?\n", result.stderr)
        self.assertEqual(result.returncode, 1)

    def test_top_of_what_is_no_skeind(self):
        result = skein("top", "--service", os.getpid())
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"process {os.getpid()} has no Skein to ask", result.stderr)

    def test_doctor_without_a_device(self):
        skeind = self.begin()
        findings, _ = self.doctor()
        self.assertTrue(findings[0]["fact"].startswith(f"skeind, process {skeind.pid}, serves {self.folder}"))
        self.assertIn(f"at port {self.port}", findings[0]["fact"])
        self.assertEqual({finding["verdict"] for finding in findings[:-1]}, {"ok"})
        self.assertEqual(findings[-1]["verdict"], "warn")
        self.assertIn("no RDMA port", findings[-1]["fact"])

    def test_doctor_of_one_that_is_stopped(self):
        skeind = self.begin()
        skeind.freeze()
        (finding,), status = self.doctor(SKEIN_RDMA="service")
        self.assertEqual((finding["verdict"], status), ("FAIL", 1))
        self.assertIn(f"process {skeind.pid}, does not answer", finding["fact"])

    def test_doctor_where_there_is_none(self):
        (finding,), status = self.doctor()
        self.assertEqual((finding["verdict"], status), ("ok", 0))
        (finding,), status = self.doctor(SKEIN_RDMA="service")
        self.assertEqual((finding["verdict"], status), ("FAIL", 1))
        self.assertIn("start one", finding["advice"])
