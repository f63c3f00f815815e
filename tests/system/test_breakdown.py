"""skein breakdown, top and metrics: what they find in programs that know nothing of them."""

import contextlib
import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import unittest
from xml.etree import ElementTree

from two_libraries import TwoLibraries
from skeintest import probes
from skeintest.cases import ProcessTest
from skeintest.kernel import await_true

BARS = pathlib.Path(__file__).resolve().parents[2] / "tools/skein/bars.py"


# Of a table's row: the stage's name, which has single spaces, and what follows.
ROW = re.compile(r"^(\S+(?: \S+)*?)  +(?:(software|wire|handler|mixed) +)?(\d+) +([\d.]+) ", re.MULTILINE)


class Breakdown(ProcessTest):
    def while_it_calls(self, **options):
        server = self.server(**options)
        client = self.client(server.address, **options)
        client.ask("load", 2, 64)
        return client, server

    def test_the_stages_of_a_call_from_end_to_end(self):
        client, server = self.while_it_calls()
        result = probes.skein("breakdown", "--seconds=1", client.pid)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"/\S+ over shm, seen by the client")
        rows = {name: (work, int(count), float(p50)) for name, work, count, p50 in ROW.findall(result.stdout)}
        for stage in ("framework, client", "combining", "posting", "wire", "dispatch", "framework, server", "handler",
                      "reply, wire", "reply, delivery", "from end to end"):  # fmt: skip
            self.assertGreater(rows[stage][1], 10, stage)
        seen_by_server = probes.skein("breakdown", "--seconds=1", server.pid)
        self.assertRegex(seen_by_server.stdout, r"over shm, seen by the server")

    def test_a_process_that_traces_already(self):
        client, _ = self.while_it_calls(env={"SKEIN_TRACE": "1"})
        await_true(lambda: "from end to end" in probes.skein("breakdown", client.pid).stdout, 20)
        self.assertRegex(probes.skein("metrics", client.pid).stdout, r'skein_call_seconds_count\{path="shm",side="client"')

    def test_threads_of_skein_leave_signals_to_the_program(self):
        client, _ = self.while_it_calls(env={"SKEIN_TRACE": "1"})
        await_true(lambda: "from end to end" in probes.skein("breakdown", client.pid).stdout, 20)
        threads = {}
        for task in pathlib.Path(f"/proc/{client.pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # gRPC's come and go
                blocked = int(re.search(r"^SigBlk:\s+(\w+)", (task / "status").read_text(), re.MULTILINE)[1], 16)
                threads[(task / "comm").read_text().strip()] = blocked
        for name in ("skein-control", "skein-trace"):
            self.assertTrue(threads[name] >> (signal.SIGTERM - 1) & 1, name)
            self.assertTrue(threads[name] >> (signal.SIGCHLD - 1) & 1, name)
            self.assertFalse(threads[name] >> (signal.SIGSEGV - 1) & 1, name)

    def test_programs_see_nothing_of_it(self):
        server = self.server()
        client = self.client(server.address, env={"SKEIN_TRACE": "1"})
        self.assert_calls_succeed(client)

    def test_top_counts_messages(self):
        client, _ = self.while_it_calls()
        result = probes.skein("top", "--interval=0.5", "--rounds=1", client.pid)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        heading, row = result.stdout.splitlines()
        self.assertIn("SENT/s", heading)
        self.assertRegex(row, rf"^{client.pid} .* shm:1  +[1-9]")

    def test_a_recorded_trace_gives_the_same_tables(self):
        client, _ = self.while_it_calls()
        trace = pathlib.Path(self.scratch()) / "calls.json"
        recorded = probes.skein("record", "--seconds=1", "--max=100", "-o", trace, client.pid)
        self.assertEqual((recorded.returncode, recorded.stderr), (0, ""))
        calls = trace.read_text().count('"stages":')
        self.assertGreater(calls, 10)
        result = probes.skein("breakdown", trace)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"/\S+ over shm, seen by the client")
        counts = {name: int(count) for name, _, count, _ in ROW.findall(result.stdout)}
        self.assertEqual(counts["from end to end"], calls)
        self.assertEqual(probes.skein("breakdown", trace).stdout, result.stdout)

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "skein-bars draws with python3-matplotlib")
    def test_the_tables_of_a_trace_as_bars(self):
        client, _ = self.while_it_calls()
        trace = pathlib.Path(self.scratch()) / "calls.json"
        self.assertEqual(probes.skein("record", "--seconds=0.5", "--max=100", "-o", trace, client.pid).returncode, 0)
        svg = trace.with_suffix(".svg")
        stages = probes.skein("breakdown", "--json", trace).stdout
        subprocess.run([BARS, svg], input=stages, text=True, check=True, timeout=60)
        texts = {node.text for node in ElementTree.parse(svg).getroot().iter("{http://www.w3.org/2000/svg}text")}
        self.assertTrue(any(text.startswith("handler (handler) ") for text in texts), texts)

    def test_the_trace_of_two_libraries_is_one(self):
        client, server = self.while_it_calls()
        both = TwoLibraries([server.pid, client.pid])
        self.addCleanup(both.close)
        trace = pathlib.Path(self.scratch()) / "calls.json"
        recorded = probes.skein("record", "--seconds=0.5", "--max=100", "-o", trace, os.getpid())
        self.assertEqual((recorded.returncode, recorded.stderr), (0, ""))
        result = probes.skein("breakdown", trace)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"(?s)seen by the client.*seen by the server")

    def test_a_file_that_is_no_trace_is_refused(self):
        folder = pathlib.Path(self.scratch())
        for text, why in (("", "no JSON, or not to its end: at byte 1"), ('{"traceEvents":[', "at byte 17"),
                          ('{"traceEvents":[{"ph":"X","ts":1}]}', "no trace that skein record wrote")):  # fmt: skip
            (folder / "other.json").write_text(text)
            result = probes.skein("breakdown", folder / "other.json")
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertIn(why, result.stderr)
        for name, why in (("none.json", "No such file or directory"), (".", "Is a directory")):
            result = probes.skein("breakdown", folder / name)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertRegex(result.stderr, f"cannot read {folder / name}: {why}")

    def test_a_wrong_call_is_refused_with_its_reason(self):
        for wrong in (["breakdown"], ["breakdown", "0"], ["breakdown", "--seconds=x", "1"], ["top", "--interval=0"],
                      ["metrics"], ["breakdown", "--evry=2", "1"], ["breakdown", "1", "2"], ["breakdown", "a", "1"],
                      ["breakdown", "--seconds=1", "calls.json"]):  # fmt: skip
            result = probes.skein(*wrong)
            self.assertEqual(result.returncode, 2, wrong)
            self.assertIn("Usage: skein", result.stderr)
        self.assertEqual(probes.skein("breakdown", 2**22 + 1).returncode, 1)
