"""Counts beside their budgets, on invented ones."""

import pathlib
import tempfile
import unittest
from unittest import mock

import budgets
import run_instructions
from callgrind import Profile

BUDGET = {"instructions": 1000.0, "tolerance": 2, "functions": {"Send": 500.0, "malloc": 100.0}}


def judge(instructions, **functions):
    return budgets.judge({"call": Profile(instructions, functions)}, {"call": BUDGET})


class Judge(unittest.TestCase):
    def test_within_the_tolerance_there_is_nothing_to_say(self):
        for instructions in (981.0, 1000.0, 1019.0):
            self.assertEqual(judge(instructions), ([], []))

    def test_over_it_names_what_grew_most_first(self):
        failures, hints = judge(1300.0, Send=520.0, malloc=100.0, Copy=350.0)
        self.assertEqual(hints, [])
        self.assertEqual(
            failures[0].splitlines(),
            [
                "call: 1,300.0 instructions per operation, +30.0 % beside its budget of 1,000.0, which allows 2 %.",
                "    Copy: was not among the first, now 350.0 by itself (at least +250.0)",
                "    Send: was 500.0, now 520.0 by itself (+20.0)",
            ],
        )

    def test_over_it_says_when_it_cannot_name_any(self):
        failures, _ = judge(1300.0, Send=500.0, malloc=100.0, a=100.0, b=100.0, c=100.0)
        self.assertEqual(failures[0].splitlines()[1:], ["    none of its first 2 functions grew: see which by line."])

    def test_much_cheaper_is_told_and_does_not_fail(self):
        failures, hints = judge(900.0)
        self.assertEqual(failures, [])
        self.assertIn("call: 900.0 instructions per operation, -10.0 % beside its budget.", hints)

    def test_a_path_without_budget_fails(self):
        failures, _ = budgets.judge({"new": Profile(10.0, {})}, {})
        self.assertIn("new: 10.0 instructions per operation, and no budget.", failures)

    def test_a_budget_without_path_fails(self):
        failures, _ = budgets.judge({}, {"call": BUDGET})
        self.assertIn("call: has a budget, and is no path of hot_paths.", failures)


class Updated(unittest.TestCase):
    def test_budgets_are_what_was_measured_and_no_more(self):
        functions = {name: float(count) for count, name in enumerate("abcdefghijk")}
        content = budgets.updated({"call": Profile(2000.04, functions)}, {"gone": BUDGET})
        self.assertEqual(list(content), ["call"])
        self.assertEqual(content["call"]["instructions"], 2000.0)
        self.assertEqual(content["call"]["tolerance"], budgets.TOLERANCE_PERCENT)
        self.assertEqual("".join(content["call"]["functions"]), "kjihgfed")
        self.assertEqual(content["call"]["functions"]["k"], 10.0)

    def test_a_tolerance_stays(self):
        content = budgets.updated({"call": Profile(2000.0, {})}, {"call": {**BUDGET, "tolerance": 5}})
        self.assertEqual(content["call"]["tolerance"], 5)


class File(unittest.TestCase):
    def test_is_read_as_it_was_written(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "budgets.json"
            self.assertEqual(budgets.load(file), (None, {}))
            budgets.save(file, "a compiler", {"call": BUDGET})
            self.assertEqual(budgets.load(file), ("a compiler", {"call": BUDGET}))


class Table(unittest.TestCase):
    def test_has_a_line_for_each_path_with_a_budget_or_without(self):
        lines = budgets.table({"call": Profile(1010.0, {}), "new": Profile(5.0, {})}, {"call": BUDGET}).splitlines()
        self.assertEqual(lines[1].split(), ["call", "1,010.0", "1,000.0", "+1.00%"])
        self.assertEqual(lines[2].split(), ["new", "5.0"])


class ByLibrary(unittest.TestCase):
    def test_most_first_and_without_what_is_next_to_nothing(self):
        profile = Profile(1000.0, {}, {"libc": 200.0, "libgrpc": 795.0, "libm": 5.0})
        self.assertEqual(
            budgets.by_library({"call": profile}).split("\n"),
            ["call: 1,000 instructions", "         795   80%  libgrpc", "         200   20%  libc"],
        )


class CountAgain(unittest.TestCase):
    def counted(self, *again):
        """What is kept of a count over the budget and of those that follow, and how many of these there were."""
        measured = {"call": Profile(1300.0, {})}
        with mock.patch.object(run_instructions, "measure_one", side_effect=[Profile(n, {}) for n in again]) as counts:
            run_instructions.count_again("hot_paths", pathlib.Path("dumps"), measured, {"call": BUDGET})
        return measured["call"].instructions, counts.call_count

    def test_a_longer_order_of_threads_is_forgiven_once_a_shorter_one_is_seen(self):
        self.assertEqual(self.counted(1400.0, 1010.0), (1010.0, 2))

    def test_a_path_that_has_become_dearer_stays_over_its_budget(self):
        self.assertEqual(self.counted(1310.0, 1290.0, 1320.0), (1290.0, 3))
