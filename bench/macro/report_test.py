"""What is wanted, the tables, the plots and the page, on invented figures."""

import pathlib
import tempfile
import unittest

import plan
import report
import wanted
from harness.page import END
from plan import SKEIN, TCP, Load

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


class Plots(unittest.TestCase):
    def test_of_a_whole_run_are_all_there(self):
        charts = report.charts(run(2))
        self.assertEqual(set(charts), {curve.file for curve in report.CURVES})
        points = {"size-p50": len(plan.SIZES), "callers-sync": len(plan.CALLERS), "channels": len(plan.CHANNELS),
                  "rate-p99": len(plan.RATES)}  # fmt: skip
        for name, count in points.items():
            self.assertEqual([len(line) for line in charts[name]["series"].values()], [count] * len(plan.LOCAL))

    def test_need_two_points(self):
        self.assertEqual(report.charts(run(2, [plan.Scenario(Load(), (TCP, SKEIN), 1)])), {})


class Page(unittest.TestCase):
    def test_is_written_with_its_plots(self):
        with tempfile.TemporaryDirectory() as folder:
            docs = pathlib.Path(folder)
            (docs / "performance.md").write_text(f"{report.BEGIN}\n{END}\n")
            report.page(run(2)).write(run(2), docs)
            page = (docs / "performance.md").read_text()
            for curve in report.CURVES:
                self.assertIn(f"(performance/{curve.file}.svg)", page)
                self.assertTrue((docs / "performance" / f"{curve.file}.svg").exists())

    def test_each_plan_has_markers_of_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            docs = pathlib.Path(folder)
            page = docs / "performance.md"
            page.write_text(f"{report.BEGIN}\n{END}\n{report.BEGIN_VM}\n{END}\n")
            results = run(2, plan.vm(), plan="vm")
            report.page(results).write(results, docs)
            first, second = page.read_text().split(report.BEGIN_VM)
            self.assertEqual(first, f"{report.BEGIN}\n{END}\n")
            self.assertIn("Skein, RDMA", second)
            self.assertFalse((docs / "performance").exists())
