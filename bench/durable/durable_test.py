"""The claims and the tables, on invented figures."""

import unittest

import durable
import durable_calls
import durable_claims as paper

import claims


def one(exchange, kops, write_p99=5.0, read_p99=6.0, **asked):
    latency = {"p50_us": 1.0, "p99_us": 1.0, "mean_us": 1.0}
    return {
        **paper.DEFAULTS, **asked, "exchange": exchange, "kops": kops, "all": latency,
        "write": {**latency, "p99_us": write_p99}, "read": {**latency, "p99_us": read_p99}, "reply": latency,
    }  # fmt: skip


def results(*runs):
    return {"seed": 1, "runs": list(runs)}


class Claims(unittest.TestCase):
    def test_the_lower_of_ours_is_held_against_the_best_of_the_others(self):
        found = paper.Results(results(one("wflush", 20), one("w-rflush", 18), one("FaRM", 10), one("L5", 8)))
        self.assertAlmostEqual(paper.gain(paper.BY_WRITE, paper.WRITERS)(found), 1.8)
        self.assertAlmostEqual(paper.more(paper.BY_WRITE, paper.WRITERS)(found), 0.8)

    def test_latencies_are_held_against_the_lowest(self):
        found = paper.Results(results(one("wflush", 1, write_p99=4.0), one("FaRM", 1, write_p99=8.0), one("L5", 1, write_p99=16.0)))
        self.assertAlmostEqual(paper.lower(("wflush",), paper.WRITERS, "p99_us", "write")(found), 0.5)

    def test_that_do_not_hold_are_named(self):
        found = paper.Results(results(one("wflush", 15), one("FaRM", 10)))
        broken = list(claims.broken(found, paper.CLAIMS))
        self.assertIn("heavy, 1 KiB: wflush to the best that waits for its reply: 1.50x, not at least 1.58", broken)

    def test_without_points_are_left_out(self):
        self.assertEqual(claims.of(paper.Results(results(one("core/rpc", 1))), paper.CLAIMS), [])

    def test_core_rpc_is_none_of_those_that_are_durable_by_waiting(self):
        self.assertNotIn(paper.PLAIN, paper.WAITING)


class Tables(unittest.TestCase):
    def test_have_a_row_for_each_exchange_and_a_column_for_each_setting(self):
        runs = results(one("wflush", 1234.56), one("FaRM", 10, object_bytes=65536, load="light"))
        text = durable.markdown(runs)
        self.assertIn("|  | 1 KiB, heavy | 64 KiB, light |", text)
        self.assertIn("| wflush | **1,234.6**; 5.0, 6.0 |  |", text)
        self.assertIn("| FaRM |  | **10.0**; 5.0, 6.0 |", text)

    def test_of_experiments_that_were_not_run_are_left_out(self):
        self.assertNotIn("### Senders", durable.markdown(results(one("wflush", 1))))


class Calls(unittest.TestCase):
    def test_ratios_are_to_plain_calls_in_the_same_round(self):
        def rounds(log, *factors):
            level = "" if log == durable_calls.PLAIN else "persistent"
            return [{**dict.fromkeys(durable_calls.FIGURES, 10.0 * factor), "level": level} for factor in factors]

        series = {
            (*service, log): rounds(log, 1, 2) if log == durable_calls.PLAIN else rounds(log, 2, 8)
            for service in durable_calls.SERVICES for log in durable_calls.LOGS
        }  # fmt: skip
        cases = durable_calls.summaries(series)
        self.assertNotIn("persisted_p50_us", cases["grpc, TCP, 1, plain"])
        self.assertEqual(cases["thrift, shm, 8, log on disk"]["persisted_p50_us"]["ratio"]["median"], 3.0)
        self.assertEqual(durable_calls.cell(cases["thrift, shm, 8, log on disk"]),
                         "**x3.00** (2.00..4.00); persisted 50 (x3.0), answered 50 / 50 (x3.0)")


if __name__ == "__main__":
    unittest.main()
