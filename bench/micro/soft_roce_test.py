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


def round_through_skeind():
    """Of each process's own RDMA, and through skeind half the rate and one queue pair for all."""
    found = {}
    for tool, rate in (("stream", 8.0), ("service", 4.0)):
        for name, _ in soft_roce_table.SERVICE:
            figures = {"p50_us": rate, "p99_us": rate} if name.startswith("latency") else {"mb_per_s": rate}
            found[f"{tool} {name}"] = {**figures, "failures": 0}
        for processes in soft_roce_table.CROWDS:
            pairs = processes if tool == "stream" else 1
            found[f"{tool} crowd {processes}"] = {"mb_per_s": rate, "queue_pairs": pairs, "registered_mib": 1.5, "failures": 0}
    return found


class Figures(unittest.TestCase):
    def test_ratios_are_to_the_other_tool_of_the_round(self):
        figures = soft_roce.summaries([round_of(1.0), round_of(100.0)], soft_roce.BASES["rdma"])
        self.assertEqual(figures["write bandwidth 4096"]["mb_per_s"]["ratio"]["max"], 2.0)
        self.assertEqual(figures["stream latency 64"]["p50_us"]["ratio"]["median"], 2.0)
        self.assertEqual(figures["perftest latency 64"]["p99_us"]["ratio"]["median"], 1.0)

    def text_of(self, rounds, compared):
        return soft_roce_table.markdown({
            "date": "2026-01-01T00:00:00",
            "machine": {"commit": "c", "cores": 2, "cpu": "x", "virtual": "none"},
            "settings": {"rounds": 2, "seed": 1, "quick": False, "compared": compared},
            "figures": soft_roce.summaries(rounds, soft_roce.BASES[compared]),
        })  # fmt: skip

    def test_many_processes_are_told_of_with_what_they_hold(self):
        text = self.text_of([round_through_skeind()], "service")
        self.assertIn("| the same through skeind: MB/s together | **4.00** (4.00..4.00), x0.50 |", text)
        self.assertIn("| Skein, core/stream: queue pairs | **1** (1..1), x1.00 | **8** (8..8), x1.00 |", text)
        self.assertIn("| the same through skeind: queue pairs | **1** (1..1), x1.00 | **1** (1..1), x0.12 |", text)

    def test_what_failed_is_told(self):
        rounds = [round_of(1.0), round_of(1.0)]
        rounds[1]["write bandwidth 65536"]["failures"] = 3
        text = self.text_of(rounds, "rdma")
        self.assertIn("done again: write bandwidth 65536 (3).", text)
        self.assertIn("| Skein, core/stream | **2** (2..2), x2.00 |", text)
