"""The table and the plots, on invented figures."""

import pathlib
import tempfile
import unittest

import claims
import flock_sim
import page
import service_sim


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
        self.assertEqual(list(claims.broken(claims.Results(peak(5.0)), flock_sim.PAGE.claims)), [])

    def test_that_do_not_hold_are_named(self):
        (broken,) = claims.broken(claims.Results(peak(9.9)), flock_sim.PAGE.claims)
        self.assertIn("1,408 queue pairs", broken)
        self.assertIn("0.99x, not at most 0.6", broken)

    def test_without_points_are_left_out(self):
        self.assertEqual(len(claims.of(claims.Results(peak(5.0)), flock_sim.PAGE.claims)), 3)

    def test_are_rows_of_the_table(self):
        self.assertIn("| READ, 1,408 queue pairs, of 704 | sharp drop | **0.50x** |", page.table(flock_sim.PAGE, peak(5.0)))


class Pages(unittest.TestCase):
    def test_are_written_with_their_plots(self):
        for of in (flock_sim.PAGE, service_sim.PAGE):
            names = {experiment for experiment, *_ in of.plots}
            figures = dict.fromkeys((figure for *_, figure, _ in of.plots), 2.0)
            runs = [{"experiment": name, "series": "a", "x": x, **figures} for name in names for x in (1, 48)]
            with self.subTest(of.name), tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / f"{of.name}-sim.md"
                file.write_text(f"{of.begin}\n{page.END}\n")
                page.write_docs(of, {"seed": 7, "runs": runs}, file.parent)
                self.assertIn("Seed 7.", file.read_text())
                drawn = {each.stem for each in (file.parent / f"{of.name}-sim").iterdir()}
                self.assertEqual(drawn, {name for _, name, *_ in of.plots})


if __name__ == "__main__":
    unittest.main()
