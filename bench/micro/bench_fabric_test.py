"""Every measurement that one host allows, between two processes, and wrong calls."""

import json
import subprocess
import unittest

from skeintest import probes
from skeintest.child import Child

LIMIT = 60  # seconds


def program():
    return probes.build() / "bench/micro/bench_fabric"


def client(*flags):
    return subprocess.run([program(), *flags], capture_output=True, text=True, timeout=LIMIT)


class BothEnds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        server = cls.enterClassContext(Child([program(), "--listen=127.0.0.1:0"]))
        cls.address = server.line().removeprefix("listening on ")

    def measure(self, over, measure, size, count):
        done = client(
            f"--target={self.address}", f"--over={over}", f"--measure={measure}", f"--bytes={size}", f"--count={count}"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def assert_measured(self, over, path, measure, size, count, figures):
        with self.subTest(over=over, measure=measure, size=size):
            told = self.measure(over, measure, size, count)
            asked = {"over": over, "path": path, "measure": measure, "bytes": size, "count": count}
            self.assertEqual({key: told[key] for key in asked}, asked)
            self.assertEqual(set(told) - set(asked), figures)
            self.assertTrue(all(told[figure] > 0 for figure in figures), told)
            if measure == "latency":
                self.assertLessEqual(told["p50_us"], told["p99_us"])

    def test_every_measurement(self):
        for over, path in (("stream", "shm"), ("tcp", "tcp")):
            for size in (8, 4096, 1 << 20):  # the last one is as large as a stream's window
                self.assert_measured(over, path, "latency", size, 20, {"p50_us", "p99_us"})
                # More of them than WRITEs may be under way.
                self.assert_measured(over, path, "bandwidth", size, 200, {"mb_per_s"})

    def test_the_server_outlives_a_client_that_is_none(self):
        stranger = subprocess.run(
            ["bash", "-c", f"exec 3<>/dev/tcp/{self.address.replace(':', '/')} && echo GET / >&3 && cat <&3"],
            capture_output=True, timeout=LIMIT,
        )  # fmt: skip
        self.assertEqual(stranger.stdout, b"")
        self.assertIn("p50_us", self.measure("tcp", "latency", 8, 2))


class WrongCalls(unittest.TestCase):
    def assert_refused(self, status, word, *flags):
        done = client(*flags)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertIn(word, done.stderr)

    def test_flags_that_do_not_go(self):
        target = "--target=127.0.0.1:1"
        self.assert_refused(2, "either --listen=HOST:PORT or --target=HOST:PORT")
        self.assert_refused(2, "either --listen=HOST:PORT or --target=HOST:PORT", target, "--listen=127.0.0.1:0")
        self.assert_refused(2, "only --flags", target, "latency")
        self.assert_refused(2, "write | stream | tcp", target, "--over=udp")
        self.assert_refused(2, "shm | rdma", target, "--fabric=sim")
        self.assert_refused(2, "latency | bandwidth", target, "--measure=both")
        self.assert_refused(2, "shared memory has no WRITEs", target, "--over=write")
        self.assert_refused(2, "multiple of 8", target, "--over=write", "--fabric=rdma", "--bytes=12")
        self.assert_refused(2, "--count=0: allowed is 1 ..", target, "--count=0")
        self.assert_refused(2, "is not HOST:PORT", "--target=127.0.0.1")
        self.assert_refused(2, "is not HOST:PORT", "--listen=nowhere")

    def test_nobody_listens(self):
        self.assert_refused(1, "connect to 127.0.0.1:1", "--target=127.0.0.1:1", "--over=tcp")
