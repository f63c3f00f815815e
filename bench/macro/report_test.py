"""The arithmetic, the tables, the plots and the page, on invented figures."""

import json
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree

import plan
import plots
import report
import statistics_of
import table
import wanted
from plan import IN_PROCESS, SKEIN, TCP, UNIX, Load

FIGURES = {
    "load": ("p50_us", "p90_us", "p99_us", "p999_us", "calls_per_s", "mb_per_s", "cpu_us"),
    "idle": ("client_cpu_percent", "server_cpu_percent"),
    "first_call": ("first_call_us", "second_call_us"),
}


def told(figure, gain, rounds=3):
    """A figure that is `gain` times better than those of every base."""
    ratio = gain if figure.endswith("_per_s") else 1 / gain
    return {"values": [100 * ratio] * rounds, "ratios": {base.name: [ratio] * rounds for base in plan.BASES}}


def run(gain, scenarios=None, **settings):
    """The results of a run in which Skein is `gain` times better than all else."""
    scenarios = plan.report() if scenarios is None else scenarios
    return {
        "date": "2026-01-02T03:04:05+00:00",
        "machine": {"commit": "abc", "cores": 2, "cpu": "A", "virtual": "none"}
        | {"memory_gib": 4, "kernel": "6", "grpc": "1"},
        "settings": {"plan": "report", "seed": 7, "rounds": None, "duration": 0.5, "only": "", **settings},
        "minutes": 30.0,
        "load_averages": [0.1, 2.0],
        "titles": {each.name: each.title for scenario in scenarios for each in scenario.transports},
        "scenarios": [
            {
                "name": scenario.name,
                "load": vars(scenario.load),
                "failures": [],
                "left_out": {},
                "transports": {
                    each.name: {
                        figure: told(figure, gain if each == SKEIN else 1) for figure in FIGURES[scenario.load.measure]
                    }
                    for each in scenario.transports
                },
            }
            for scenario in scenarios
        ],
    }


def answers(results):
    return dict(wanted.answers("report", {each["name"]: each["transports"] for each in results["scenarios"]}))


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


class Wanted(unittest.TestCase):
    def test_every_row_has_its_figures_in_the_plan(self):
        for row, answer in answers(run(1)).items():
            self.assertIsNotNone(answer, row)
            if isinstance(row, wanted.Ratio):
                self.assertEqual(answer.found, (1, 1, 1), row)

    def test_are_reached_when_everything_is_many_times_better(self):
        missed = [row for row, answer in answers(run(2000)).items() if not answer.reached]
        self.assertEqual(missed, [])

    def test_are_not_reached_by_less(self):
        (answer,) = (
            answer for row, answer in answers(run(3.5)).items()
            if isinstance(row, wanted.Ratio) and (row.load, row.figure) == (Load(), "p50_us")
        )  # fmt: skip
        self.assertFalse(answer.reached)
        self.assertAlmostEqual(answer.found[0], 3.5)

    def test_less_time_and_more_calls_are_better(self):
        self.assertEqual(wanted.times_better("p50_us", [0.5, 0.25, 0.1]), (4, 2, 10))
        self.assertEqual(wanted.times_better("calls_per_s", [0.5, 0.25, 0.1]), (0.25, 0.1, 0.5))

    def test_bounds_are_skeins_own_beside_tcps(self):
        results = run(1)
        for scenario in results["scenarios"]:
            if scenario["name"] == plan.IN_A_ROW[0].name:
                scenario["transports"]["skein"]["p50_us"]["values"] = [10.0, 14.0, 12.0]
                scenario["transports"]["tcp"]["p50_us"]["values"] = [10.0, 20.0, 12.0]
        (answer,) = (a for row, a in answers(results).items() if getattr(row, "scenario", "") == plan.IN_A_ROW[0].name)
        self.assertEqual((answer.skein, answer.found, answer.reached), (1.4, 2.0, True))

    def test_what_was_not_measured_is_not_reached(self):
        results = run(2000, [])
        self.assertEqual(set(answers(results).values()), {None})
        self.assertEqual(report.terminal(results).count("not measured"), len(wanted.REPORT))
        self.assertNotIn("not measured", report.terminal(run(2000, [], only="thrift")))

    def test_what_lacks_tcp_is_not_reached(self):
        results = run(2000)
        for scenario in results["scenarios"]:
            for figure in scenario["transports"].get("skein", {}).values():
                figure["ratios"].pop("tcp", None)
        ratios = [row for row in wanted.REPORT if isinstance(row, wanted.Ratio)]
        self.assertEqual(report.terminal(results).count("not measured"), len(ratios))


class Tables(unittest.TestCase):
    def test_of_a_whole_run_have_all_parts(self):
        text = report.markdown(run(2))
        for part in report.PARTS:
            self.assertIn(f"| {part.title} |", text)
        for never in ("not measured", "Not to be measured", "two guests"):
            self.assertNotIn(never, text)
        self.assertNotIn("Not a whole run", text)
        self.assertIn("3 to 3 rounds of 0.5 s", text)

    def test_of_a_part_of_a_run_say_so(self):
        text = report.terminal(run(2, only="sync", rounds=1))
        self.assertIn("Not a whole run: only scenarios with 'sync', 1 rounds", text)

    def test_cell(self):
        figure = {"values": [14.0, 15.0, 16.0], "ratios": {"tcp": [0.1, 0.12, 0.08], "unix": [1, 1, 1]}}
        self.assertEqual(report.cell(figure, "{:.1f}"), "**15.0** (14.0..16.0), x0.10")
        self.assertEqual(report.cell(None, "{:.1f}"), "")
        self.assertEqual(report.cell({"values": [1.0], "ratios": {}}, "{:.0f}"), "**1** (1..1)")

    def test_wanted_cell(self):
        line = report.wanted_line(*next(iter(answers(run(3.5)).items())))
        self.assertEqual(line[2:], ["28.6", "**x3.50** (3.50..3.50) of 4", "**no**"])

    def test_failures_are_told(self):
        results = run(2)
        results["scenarios"][0]["failures"] = [{"transport": "skein", "why": "it died\nslowly\nof this\n\n"}]
        self.assertIn(f"- {results['scenarios'][0]['name']}, skein: it died of this\n", report.markdown(results))

    def test_what_is_left_out_is_told_once_with_its_reason(self):
        results = run(2, plan.vm(), plan="vm")
        for scenario in results["scenarios"][:3]:
            scenario["left_out"] = {"smc-r": "the server did not start:\nmuch\nno such family"}
        results["scenarios"][3]["left_out"] = {"smc-r": "it took too long"}
        text = report.markdown(results)
        names = [scenario["name"] for scenario in results["scenarios"]]
        self.assertIn(f"- SMC-R, {names[0]} and 2 more: the server did not start: no such family\n", text)
        self.assertIn(f"- SMC-R, {names[3]}: it took too long\n", text)

    def test_from_guest_to_guest(self):
        results = run(2, plan.vm(), plan="vm")
        results["guest"] = {"cores": 3, "cpu": "QEMU", "kernel": "6.1.0"}
        text = report.markdown(results)
        self.assertIn("two guests, each with 3 cores of QEMU, Linux 6.1.0, on 2 cores of A", text)
        for scenario in plan.vm():
            self.assertIn(f"| {scenario.name} |", text)
        self.assertNotIn("p99.9", text)

    def test_a_scenario_that_always_fails_has_no_figures(self):
        results = run(2)
        for scenario in results["scenarios"]:
            scenario["transports"] = {name: {} for name in scenario["transports"]}
        self.assertIn("not measured", report.markdown(results))

    def test_are_aligned_on_a_terminal(self):
        self.assertEqual(table.aligned(["a", "bb"], [["ccc", "d"]]), ["a    bb", "ccc  d"])


class Plots(unittest.TestCase):
    def test_of_a_whole_run_are_all_there(self):
        charts = report.charts(run(2))
        self.assertEqual(set(charts), {f"{curve.file}.svg" for curve in report.CURVES})
        points = {"size-p50": len(plan.SIZES), "callers-sync": len(plan.CALLERS), "channels": len(plan.CHANNELS),
                  "rate-p99": len(plan.RATES)}  # fmt: skip
        for name, count in points.items():
            self.assertEqual([len(line) for line in charts[f"{name}.svg"]["series"].values()], [count] * len(plan.LOCAL))

    def test_need_two_points(self):
        self.assertEqual(report.charts(run(2, [plan.Scenario(Load(), (TCP, SKEIN), 1)])), {})

    def test_labels_do_not_overlap(self):
        chart = plots.chart("t", "x", "y", {"a": [(x, 1.0) for x in (1, 100, 101, 10000)]})
        self.assertEqual(plots.apart(chart["ticks"]), [(1, "1"), (100, "100"), (10000, "10,000")])

    def test_are_drawn(self):
        series = {"first": [(8, 1.0), (1 << 26, 67.6)], "second": [(64, 50000.0)]}
        charts = {"log": plots.chart("title", "bytes", "us", series, log=True, label=plan.size_text),
                  "linear": plots.chart("title", "callers", "us", series),
                  "time": plots.chart("title", "minutes", "us", series, time=True)}  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            plots.draw({f"{folder}/{name}.svg": chart for name, chart in charts.items()})
            written = {name: xml.etree.ElementTree.parse(f"{folder}/{name}.svg").getroot() for name in charts}
        texts = {name: {node.text for node in root.iter() if node.tag.endswith("}text")} for name, root in written.items()}
        for name in charts:
            self.assertLessEqual({"title", "us", "first", "second"}, texts[name], name)
        self.assertLessEqual({"8 B", "64 MiB", "10", "1,000", "10k"}, texts["log"])
        self.assertLessEqual({"8", "67,108,864", "0", "50k"}, texts["linear"])
        self.assertNotIn("67,108,864", texts["time"])


class Page(unittest.TestCase):
    def test_figures_are_replaced_between_the_markers_only(self):
        page = f"before\n{report.BEGIN}\nold\n{table.END}\nafter\n"
        once = table.written_into(page, "new", report.BEGIN)
        self.assertEqual(once, f"before\n{report.BEGIN}\n\nnew\n\n{table.END}\nafter\n")
        self.assertEqual(table.written_into(once, "new", report.BEGIN), once)

    def test_without_markers_nothing_is_written(self):
        with self.assertRaises(SystemExit):
            table.written_into("a page", "new", report.BEGIN)

    def test_is_written_with_its_plots(self):
        with tempfile.TemporaryDirectory() as folder:
            docs = pathlib.Path(folder)
            (docs / "performance.md").write_text(f"{report.BEGIN}\n{table.END}\n")
            report.write(run(2), docs)
            page = (docs / "performance.md").read_text()
            for curve in report.CURVES:
                self.assertIn(f"({report.FOLDER}/{curve.file}.svg)", page)
                self.assertTrue((docs / report.FOLDER / f"{curve.file}.svg").exists())

    def test_each_plan_has_markers_of_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            docs = pathlib.Path(folder)
            page = docs / "performance.md"
            page.write_text(f"{report.BEGIN}\n{table.END}\n{report.BEGIN_VM}\n{table.END}\n")
            report.write(run(2, plan.vm(), plan="vm"), docs)
            first, second = page.read_text().split(report.BEGIN_VM)
            self.assertEqual(first, f"{report.BEGIN}\n{table.END}\n")
            self.assertIn("Skein, RDMA", second)
            self.assertEqual([*(docs / report.FOLDER).iterdir()], [])

    def test_the_file_holds_what_was_told(self):
        results = run(2)
        self.assertEqual(json.loads(report.json_text(results)), results)
        self.assertEqual(report.markdown(json.loads(report.json_text(results))), report.markdown(results))


if __name__ == "__main__":
    unittest.main()
