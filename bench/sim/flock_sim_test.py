"""The table and the plots, on invented figures."""

import unittest
import xml.etree.ElementTree

import claims
import flock_sim
import plots


def results(*runs):
    keys = ("experiment", "series", "x", "mrps")
    return {"seed": 1, "runs": [dict(zip(keys, run, strict=True)) for run in runs]}


def peak(at_1408):
    return results(
        ("reads", "READ", 176, 9.0), ("reads", "READ", 704, 10.0), ("reads", "READ", 1408, at_1408),
        ("reads", "READ", 5632, 3.0),
    )  # fmt: skip


class Claims(unittest.TestCase):
    def test_hold_within_their_bounds(self):
        self.assertEqual(list(claims.broken(claims.Results(peak(5.0)))), [])

    def test_that_do_not_hold_are_named(self):
        (broken,) = claims.broken(claims.Results(peak(9.9)))
        self.assertIn("1,408 queue pairs", broken)
        self.assertIn("0.99x, not at most 0.6", broken)

    def test_without_points_are_left_out(self):
        self.assertEqual(len(claims.of(claims.Results(peak(5.0)))), 3)

    def test_are_rows_of_the_table(self):
        self.assertIn("| READ, 1,408 queue pairs, of 704 | sharp drop | **0.50x** |", flock_sim.table(peak(5.0)))


class Charts(unittest.TestCase):
    def test_are_well_formed_and_within_the_picture(self):
        svg = plots.chart("t", "x", "y", {"a": [(1, 0.0), (48, 67.6)], "b": [(1, 5.0), (10005, 3.0)]})
        root = xml.etree.ElementTree.fromstring(svg)
        circles = [node for node in root.iter() if node.tag.endswith("circle")]
        self.assertEqual(len(circles), 4)
        for circle in circles:
            self.assertTrue(plots.LEFT <= float(circle.get("cx")) <= plots.WIDTH - plots.RIGHT)
            self.assertTrue(plots.TOP <= float(circle.get("cy")) <= plots.HEIGHT - plots.BOTTOM)

    def test_axes_end_at_round_numbers(self):
        self.assertEqual([plots.nice_top(value) for value in (9.9, 10.1, 67.6, 82)], [10, 12, 80, 100])


if __name__ == "__main__":
    unittest.main()
