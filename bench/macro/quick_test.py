"""Short runs of whole processes, and wrong calls. Not for the figures: that every transport
and interface runs, over the path it claims, and what is written of it."""

import json
import pathlib
import subprocess
import tempfile
import unittest

from skeintest.child import Child
from skeintest.probes import build

RUN = pathlib.Path(__file__).resolve().parent.parent / "run.sh"
LIMIT = 150  # seconds
# One of each kind; together they start every program in every role.
KINDS = (
    "callback, 64 B, 8 callers", "async, 64 B, 8 callers", "stream, 64 B, 8 streams", "sync, 16 MiB, 1 caller",
    "callback, 64 B, 64 callers, 10 channels", "callback, 64 B, 1,000 calls/s", "sync, 64 B, 8 callers, 4,000 calls/s",
    "sync, 64 B, 1 caller, beside a loop on each processor", "sync, idle, 100 channels", "sync, first call", "thrift, 64 B, 1 caller",
    "thrift-nonblocking, 64 B, 8 callers", "thrift, idle",
)  # fmt: skip


def call(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)


class ShortRuns(unittest.TestCase):
    def run_short(self, name, *options):
        """What is printed, and the results."""
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "results.json"
            done = call(RUN, build(), name, "--rounds=1", "--duration=0.03", "--seed=1", f"--out={out}", *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout, json.loads(out.read_text())

    def test_of_every_kind(self):
        only = "|".join(f"^{name}$" for name in KINDS)
        printed, results = self.run_short("report", f"--only={only}")
        self.assertEqual({scenario["name"] for scenario in results["scenarios"]}, set(KINDS))
        self.assertEqual(results["settings"]["seed"], 1)
        for scenario in results["scenarios"]:
            for transport, figures in scenario["transports"].items():
                with self.subTest(scenario["name"], transport=transport):
                    self.assertTrue(figures)
                    idle = scenario["load"]["measure"] == "idle"
                    self.assertTrue(all(told["values"][0] > 0 or idle for told in figures.values()), figures)
                    if scenario["load"]["measure"] == "load":
                        self.assertIn("cpu_us", figures)
        self.assertIn("Callers in a crowd", printed)
        self.assertIn("Not a whole run", printed)

    def test_of_what_a_user_asks(self):
        printed, results = self.run_short("quick")
        self.assertEqual(len(results["scenarios"]), 4)
        for title in ("TCP", "UNIX socket", "Skein"):
            self.assertRegex(printed, rf"One caller .*{title}")


class WrongCalls(unittest.TestCase):
    def assert_refused(self, status, word, *command):
        done = call(*command)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertIn(word, done.stderr)

    def test_of_the_command(self):
        self.assert_refused(2, "unknown benchmark 'qiuck'", RUN, build(), "qiuck")
        self.assert_refused(2, "--qiuck", RUN, build(), "quick", "--qiuck")
        self.assert_refused(2, "a build directory", RUN, "nowhere")

    def test_of_the_client(self):
        client, here = build() / "bench/macro/bench_echo_client", "--target=in-process"
        self.assert_refused(2, "--target", client)
        self.assert_refused(2, "only --flags", client, here, "idle")
        self.assert_refused(2, "load, idle or first_call", client, here, "--measure=steady")
        self.assert_refused(2, "sync, async, callback or stream", client, here, "--style=blocking")
        self.assert_refused(2, "at least 1", client, here, "--channels=0")
        self.assert_refused(2, "at least 0", client, here, "--rate=-1")
        self.assert_refused(2, "more than 0", client, here, "--duration=0s")
        self.assert_refused(2, "--server_pid", client, "--target=127.0.0.1:1", "--measure=idle")

    def test_a_server_that_has_ended_has_no_processor_time(self):
        with Child(["true"]) as ended:
            ended.wait()
        flags = ("--target=in-process", f"--server_pid={ended.pid}", "--duration=10ms")
        self.assert_refused(1, "has ended", build() / "bench/macro/bench_echo_client", *flags)

    def test_of_thrift(self):
        program = build() / "bench/thrift/bench_thrift"
        here = "--target=127.0.0.1:1"
        self.assert_refused(2, "only --flags", program, here, "idle")
        self.assert_refused(2, "one of --listen and --target", program)
        self.assert_refused(2, "one of --listen and --target", program, here, "--listen=127.0.0.1:0")
        self.assert_refused(2, "HOST:PORT or unix:PATH", program, "--target=127.0.0.1")
        self.assert_refused(2, "--skein needs HOST:PORT", program, "--target=unix:socket", "--skein")
        self.assert_refused(2, "poll, hybrid or block", program, here, "--wait_mode=sleep")
        self.assert_refused(2, "at least 1", program, here, "--threads=0")
        self.assert_refused(2, "--server_pid", program, here, "--idle")
