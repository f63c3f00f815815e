"""The arithmetic and the page of the benchmarks, on invented figures."""

import unittest

import statistics_of
import table


class Ratios(unittest.TestCase):
    def test_are_taken_within_the_round(self):
        # Both drift by a factor of ten; in each round the second is half the first.
        slow, fast = [10.0, 100.0, 20.0], [5.0, 50.0, 10.0]
        self.assertEqual(statistics_of.with_ratio(fast, slow)["ratio"]["median"], 0.5)

    def test_need_as_many_rounds_of_both(self):
        with self.assertRaises(ValueError):
            statistics_of.with_ratio([1.0], [1.0, 2.0])


class Summary(unittest.TestCase):
    def test_tells_middle_and_spread(self):
        told = statistics_of.summary([5.0, 1.0, 3.0, 2.0, 4.0])
        self.assertEqual([told[k] for k in ("min", "first_quartile", "median", "third_quartile", "max")], [1, 2, 3, 4, 5])

    def test_of_one_value(self):
        self.assertEqual(statistics_of.summary([7.0])["third_quartile"], 7.0)


class Page(unittest.TestCase):
    def test_figures_are_replaced_between_the_markers_only(self):
        page = f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n"
        once = table.written_into(page, "new")
        self.assertEqual(once, f"before\n{table.BEGIN}\n\nnew\n\n{table.END}\nafter\n")
        self.assertEqual(table.written_into(once, "new"), once)

    def test_without_markers_nothing_is_written(self):
        with self.assertRaises(SystemExit):
            table.written_into("a page", "new")

    def test_cell(self):
        figure = statistics_of.with_ratio([14.0, 15.0, 16.0], [150.0, 150.0, 150.0])
        self.assertEqual(table.cell(figure, "{:.1f}"), "**15.0** (14.0..16.0), x0.10")


if __name__ == "__main__":
    unittest.main()
