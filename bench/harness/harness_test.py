"""Arithmetic, turns, tables, plots, pages and records, on invented figures."""

import argparse
import contextlib
import io
import json
import pathlib
import random
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree

from harness import arguments, claims, page, paired, plots, program, record, statistics_of, table


class Statistics(unittest.TestCase):
    def test_ratios_are_taken_within_the_round(self):
        # Both drift by a factor of ten; in each round the second is half the first.
        slow, fast = [10.0, 100.0, 20.0], [5.0, 50.0, 10.0]
        self.assertEqual(statistics_of.with_ratio(fast, slow)["ratio"]["median"], 0.5)

    def test_ratios_need_as_many_rounds_of_both(self):
        with self.assertRaises(ValueError):
            statistics_of.with_ratio([1.0], [1.0, 2.0])

    def test_summary_tells_middle_and_spread(self):
        summed = statistics_of.summary([5.0, 1.0, 3.0, 2.0, 4.0])
        keys = ("min", "first_quartile", "median", "third_quartile", "max")
        self.assertEqual([summed[key] for key in keys], [1, 2, 3, 4, 5])
        self.assertEqual(statistics_of.summary([7.0])["third_quartile"], 7.0)


class Arguments(unittest.TestCase):
    def parse(self, names, *words, **more):
        with unittest.mock.patch.object(sys, "argv", ["a benchmark", "--build=build/release", *words]):
            return arguments.parse("what it asks", *names, **more)

    def test_results_lie_beside_the_build(self):
        self.assertEqual(self.parse(["flock-sim"]).out, pathlib.Path.cwd() / "build/bench_flock_sim.json")
        self.assertEqual(self.parse(["rdma", "service"], "service").out.name, "bench_service.json")
        self.assertEqual(self.parse(["core"], "--out=here.json").out, pathlib.Path("here.json"))

    def test_a_model_has_one_seed_and_others_have_any(self):
        self.assertEqual(self.parse(["durable"], seed=7).seed, 7)
        self.assertGreater(len({self.parse(["core"]).seed for _ in range(8)}), 1)

    def test_a_page_needs_to_exist(self):
        self.assertEqual(self.parse(["apps"], "--docs=docs", page="applications.md").docs, pathlib.Path("docs"))
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()) as told:
            self.parse(["core"], "--docs=docs")
        self.assertIn("--docs", told.getvalue())


    def test_a_check_measures_nothing_and_refuses_an_option_that_is_not_there(self):
        for words, status in [(["--check"], None), (["--quik", "--check"], 2)]:
            with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(io.StringIO()):
                self.parse(["core"], *words)
            self.assertEqual(ended.exception.code, status)


class Rounds(unittest.TestCase):
    def series(self, seed):
        turns = []
        options = argparse.Namespace(rounds=3, random=random.Random(seed))
        with contextlib.redirect_stderr(io.StringIO()):
            series = paired.rounds(options, "abcdef", lambda case: turns.append(case) or len(turns))
        return turns, series

    def test_every_case_has_its_turn_in_each(self):
        turns, series = self.series(1)
        for number in range(3):
            self.assertEqual(sorted(turns[6 * number : 6 * number + 6]), list("abcdef"))
        for case, those in series.items():
            self.assertEqual([turns[turn - 1] for turn in those], [case] * 3)

    def test_the_seed_decides_the_order(self):
        self.assertEqual(self.series(1), self.series(1))
        self.assertNotEqual(self.series(1)[0], self.series(2)[0])


class Programs(unittest.TestCase):
    def test_that_fail_end_the_benchmark_with_what_they_said(self):
        with self.assertRaisesRegex(SystemExit, "exit status 3\nno such thing"):
            program.output(["sh", "-c", "echo no such thing >&2; exit 3"])

    def test_may_have_nothing_to_measure(self):
        self.assertIsNone(program.output(["sh", "-c", "exit 77"], absent=77))
        self.assertEqual(program.figures(["echo", '{"us": 1}']), {"us": 1})


class Records(unittest.TestCase):
    def test_of_an_earlier_run_are_told_again_without_measuring(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            out = pathlib.Path(folder) / "results.json"
            measured = record.of(argparse.Namespace(results=None, out=out), lambda: {"sizes": {64: [1.5]}})
            again = record.of(argparse.Namespace(results=out, out=None), lambda: self.fail("measured"))
        self.assertEqual(measured, {"sizes": {"64": [1.5]}})
        self.assertEqual(again, measured)

    def test_have_lines_for_people(self):
        run = {"us": [0.5] * 60, "what": 'a "word"'}
        found = {"seed": 1, "runs": [run, run], "empty": {}}
        text = record.json_text(found)
        self.assertEqual(json.loads(text), found)
        self.assertEqual(text.splitlines()[3], f"  {json.dumps(run)},")
        self.assertTrue(all(len(line) < record.WIDTH + 10 for line in text.splitlines()))


def claim(**bounds):
    return claims.Claim("drop", "sharp", lambda found: found["half"] / found["whole"], **bounds)


class Claims(unittest.TestCase):
    def test_hold_within_their_bounds(self):
        self.assertEqual(list(claims.broken({"half": 1, "whole": 2}, [claim(least=0.4, most=0.6), claim()])), [])

    def test_that_do_not_hold_are_named(self):
        broken = claims.broken({"half": 1, "whole": 1}, [claim(most=0.6), claim(least=1.5)])
        self.assertEqual(list(broken), ["drop: 1.00x, not at most 0.6", "drop: 1.00x, not at least 1.5"])

    def test_without_points_are_left_out(self):
        found, claimed = claims.Points({"half": 1}), [claim(most=0.6)]
        self.assertEqual(list(claims.broken(found, claimed)), [])
        self.assertEqual(list(claims.broken(found, claimed, whole=True)), ["drop: there are no points"])

    def test_without_a_figure_that_each_point_has_are_an_error(self):
        with self.assertRaises(KeyError):
            claims.of(claims.Points({1: {"old": 1}}), [claims.Claim("new", "", lambda found: found[1]["new"])])

    def test_are_rows_of_the_table(self):
        text = claims.markdown({"half": 1, "whole": 2}, [claim()], 7)
        self.assertIn("Seed 7.", text)
        self.assertIn("| drop | sharp | **0.50x** |", text)


class Tables(unittest.TestCase):
    def test_are_aligned_on_a_terminal(self):
        self.assertEqual(table.aligned(["a", "bb"], [["ccc", "d"]]), ["a    bb", "ccc  d"])


class Plots(unittest.TestCase):
    def test_labels_do_not_overlap(self):
        chart = plots.chart("t", "x", "y", {"a": [(x, 1.0) for x in (1, 100, 101, 10000)]})
        self.assertEqual(plots.apart(chart["ticks"]), [(1, "1"), (100, "100"), (10000, "10,000")])

    def test_are_drawn(self):
        series = {"first": [(8, 1.0), (1 << 26, 67.6)], "second": [(64, 50000.0)]}
        charts = {"log": plots.chart("title", "bytes", "us", series, log=True, label="{} B".format),
                  "linear": plots.chart("title", "callers", "us", series),
                  "time": plots.chart("title", "minutes", "us", series, time=True)}  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            plots.draw({f"{folder}/{name}.svg": chart for name, chart in charts.items()})
            written = {name: xml.etree.ElementTree.parse(f"{folder}/{name}.svg").getroot() for name in charts}
        texts = {name: {node.text for node in root.iter() if node.tag.endswith("}text")} for name, root in written.items()}
        for name in charts:
            self.assertLessEqual({"title", "us", "first", "second"}, texts[name], name)
        self.assertLessEqual({"8 B", "67108864 B", "10", "1,000", "10k"}, texts["log"])
        self.assertLessEqual({"8", "67,108,864", "0", "50k"}, texts["linear"])
        self.assertNotIn("67,108,864", texts["time"])


class Pages(unittest.TestCase):
    BEGIN = "<!-- figures: do not edit -->"

    def test_figures_are_replaced_between_the_markers_only(self):
        text = f"before\n{self.BEGIN}\nold\n{page.END}\nafter\n"
        once = page.written_into(text, "new", self.BEGIN)
        self.assertEqual(once, f"before\n{self.BEGIN}\n\nnew\n\n{page.END}\nafter\n")
        self.assertEqual(page.written_into(once, "new", self.BEGIN), once)

    def test_without_markers_nothing_is_written(self):
        with self.assertRaises(SystemExit):
            page.written_into("a page", "new", self.BEGIN)

    def test_plots_lie_in_a_folder_of_the_pages_name(self):
        chart = plots.chart("t", "x", "y", {"a": [(1, 1.0), (2, 2.0)]})
        with tempfile.TemporaryDirectory() as folder:
            docs = pathlib.Path(folder)
            (docs / "speed.md").write_text(f"{self.BEGIN}\n{page.END}\n")
            page.Page("speed.md", self.BEGIN, "{[us]} us".format, lambda results: {"by-size": chart}).write({"us": 7}, docs)
            self.assertIn("\n7 us\n", (docs / "speed.md").read_text())
            self.assertTrue((docs / "speed/by-size.svg").exists())
