"""thrift_test.py BUILD_DIR: a quick run of the Thrift benchmark, and wrong calls. Not for its figures: that every case
runs, and what is written of it."""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import unittest

import thrift

BUILD = pathlib.Path(sys.argv[1])
RUN = pathlib.Path(__file__).resolve().parent.parent / "run.sh"
LIMIT = 150  # seconds


def call(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)


class QuickRun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "quick.json"
            cls.done = call(RUN, BUILD, "thrift", "--quick", "--seed", "1", "--out", out)
            if cls.done.returncode != 0:
                raise AssertionError(cls.done.stderr)
            cls.results = json.loads(out.read_text())

    def figures(self):
        for case, figures in self.results["cases"].items():
            for figure, told in figures.items():
                yield case, figure, told

    def test_says_how_it_was_called(self):
        settings = {"seed": 1, "rounds": 2, "duration": "50ms", "idle_duration": "200ms", "quick": True}
        self.assertEqual(self.results["settings"], settings)

    def test_has_every_figure_of_every_case_in_each_round(self):
        expected = {case: set(load.figures) for case, (load, _) in thrift.CASES.items()}
        self.assertEqual({case: set(figures) for case, figures in self.results["cases"].items()}, expected)
        for case, figure, told in self.figures():
            with self.subTest(case=case, figure=figure):
                self.assertEqual(len(told["values"]), 2)
                if not case.startswith("idle"):
                    self.assertGreater(min(told["values"]), 0)

    def test_ratios_are_to_the_references_of_the_round(self):
        for case, figure, told in self.figures():
            for key, way in (("ratio", "tcp"), ("ratio_to_unix", "unix")):
                with self.subTest(case=case, figure=figure, key=key):
                    if case.startswith("idle"):
                        self.assertNotIn(key, told)
                        continue
                    load, _ = thrift.CASES[case]
                    base = self.results["cases"][f"{load.name}, {way}"][figure]["values"]
                    ratios = [value / reference for value, reference in zip(told["values"], base, strict=True)]
                    self.assertAlmostEqual(told[key]["median"], statistics.median(ratios))

    def test_prints_a_line_for_each_figure(self):
        header = 2
        self.assertEqual(len(self.done.stdout.splitlines()), header + len(list(self.figures())))
        self.assertRegex(self.done.stdout, r"\| 1 MiB, 1 thread, tcp \| p50_us \| .* \| x1\.00 \(1\.00\.\.1\.00\) \| x")


class WrongCalls(unittest.TestCase):
    def assert_refused(self, word, *command):
        done = call(*command)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn(word, done.stderr)

    def test_of_the_driver(self):
        self.assert_refused("--qiuck", RUN, BUILD, "thrift", "--qiuck")

    def test_of_the_program(self):
        program = BUILD / "bench/thrift/bench_thrift"
        self.assert_refused("only --flags", program, "idle")
        self.assert_refused("tcp, unix or skein", program, "--transport=udp")
        self.assert_refused("poll, hybrid or block", program, "--wait_mode=sleep")
        self.assert_refused("at least 1", program, "--threads=0")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
