"""The table and the plots, on invented figures."""

import pathlib
import tempfile
import unittest

import claims
import flock_sim


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


class Page(unittest.TestCase):
    def test_is_written_with_its_plots(self):
        names = {experiment for experiment, *_ in flock_sim.PLOTS}
        keys = ("experiment", "series", "x", "mrps", "p99_us")
        runs = [dict(zip(keys, (name, "a", x, 2.0, 3.0), strict=True)) for name in names for x in (1, 48)]
        with tempfile.TemporaryDirectory() as folder:
            docs = pathlib.Path(folder)
            (docs / "flock-sim.md").write_text(f"{flock_sim.BEGIN}\n{flock_sim.END}\n")
            flock_sim.write_docs({"seed": 7, "runs": runs}, docs)
            self.assertIn("Seed 7.", (docs / "flock-sim.md").read_text())
            self.assertEqual({file.stem for file in (docs / "flock-sim").iterdir()}, {name for _, name, *_ in flock_sim.PLOTS})


if __name__ == "__main__":
    unittest.main()
