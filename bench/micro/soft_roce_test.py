"""What becomes of the rounds of the Soft-RoCE figures, on invented ones."""

import unittest

import soft_roce
import soft_roce_table


def round_of(scale):
    """All that a round measures: `scale` times one for the first of each table, twice that for the others."""
    found = {}
    for tools, columns in (
        (("perftest", "write"), soft_roce_table.WRITES),
        (("tcp", "rsockets", "stream"), soft_roce_table.STREAMS),
    ):
        for number, tool in enumerate(tools):
            value = scale * (1 if number == 0 else 2)
            for name, _ in columns:
                figures = {"p50_us": value, "p99_us": value} if name.startswith("latency") else {"mb_per_s": value}
                found[f"{tool} {name}"] = {**figures, "failures": 0}
    return found


class Figures(unittest.TestCase):
    def test_ratios_are_to_the_other_tool_of_the_round(self):
        figures = soft_roce.summaries([round_of(1.0), round_of(100.0)], soft_roce.BASES["rdma"])
        self.assertEqual(figures["write bandwidth 4096"]["mb_per_s"]["ratio"]["max"], 2.0)
        self.assertEqual(figures["stream latency 64"]["p50_us"]["ratio"]["median"], 2.0)
        self.assertEqual(figures["perftest latency 64"]["p99_us"]["ratio"]["median"], 1.0)

    def test_what_failed_is_told(self):
        rounds = [round_of(1.0), round_of(1.0)]
        rounds[1]["write bandwidth 65536"]["failures"] = 3
        results = {
            "date": "2026-01-01T00:00:00",
            "machine": {"commit": "c", "cores": 2, "cpu": "x", "virtual": "none"},
            "settings": {"rounds": 2, "seed": 1, "quick": False},
            "figures": soft_roce.summaries(rounds, soft_roce.BASES["rdma"]),
        }
        text = soft_roce_table.markdown(results)
        self.assertIn("done again: write bandwidth 65536 (3).", text)
        self.assertIn("| Skein, core/stream | **2** (2..2), x2.00 |", text)


if __name__ == "__main__":
    unittest.main()
