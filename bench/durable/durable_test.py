"""The claims and the tables, on invented figures."""

import unittest

import durable
import durable_apps
import durable_apps_claims as apps
import durable_calls
import durable_claims as paper
import durable_store
from harness import claims


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


def application(exchange, mean, **asked):
    latency = {"mean_us": mean, "p99_us": 2 * mean}
    return {"exchange": exchange, "kops": 1e3 / mean, "seconds": mean / 1e3, "sender_us": 1.0, "receiver_us": 2.0, "all": latency,
            "operation": latency, **asked}  # fmt: skip


class Applications(unittest.TestCase):
    def test_a_sender_that_goes_on_is_held_against_the_best_that_waits(self):
        found = apps.Results(results(
            application("wflush", 20, **apps.E_AHEAD), application("wflush", 90, **apps.ycsb("E")),
            application("FaRM", 80, **apps.ycsb("E")), application("L5", 100, **apps.ycsb("E")), application("FaRM", 25, **apps.E_AHEAD),
        ))  # fmt: skip
        waits = apps.below(apps.Results.mean, ("wflush",), apps.WRITERS, apps.E_AHEAD, apps.ycsb("E"))
        goes_on = apps.below(apps.Results.mean, ("wflush",), apps.WRITERS, apps.E_AHEAD)
        self.assertAlmostEqual(waits(found), 0.75)
        self.assertAlmostEqual(goes_on(found), 0.2)

    def test_of_graphs_the_least_gain_counts_and_those_that_were_not_run_do_not(self):
        runs = [application(one, mean, **apps.pagerank(graph)) for graph, ours in (("enron", 90), ("dblp-2010", 50))
                for one, mean in (("wflush", ours), ("FaRM", 100))]  # fmt: skip
        self.assertAlmostEqual(apps.graphs_below(("wflush",), apps.WRITERS, {})(apps.Results(results(*runs))), 0.1)
        with self.assertRaises(claims.NoPoint):
            apps.graphs_below(("wflush",), apps.WRITERS, {})(apps.Results(results()))

    def test_a_crash_costs_the_more_the_more_often_there_is_one(self):
        runs = [application(one, 10, **apps.recovery(), waits_ms=waits, forgotten=0) for one, waits in (("wflush", 300), ("FaRM", 400))]
        found = apps.Results(results(*runs))
        # 2.7 s between crashes.
        self.assertAlmostEqual(found.crashes_alone("wflush", 0.9, apps.recovery()), (1 + 0.3 / 2.7) / (1 + 0.4 / 2.7))
        self.assertAlmostEqual(found.total_time("FaRM", 0.9, apps.recovery()), 1e4 * (1 + 0.4 / 2.7))
        self.assertGreater(found.crashes_alone("wflush", 0.99, apps.recovery()), found.crashes_alone("wflush", 0.9, apps.recovery()))

    def test_a_lost_request_breaks_a_claim(self):
        found = results(application("wflush", 10, **apps.recovery(), waits_ms=300, forgotten=1))
        self.assertTrue(any("known to be safe" in what for what in claims.broken(apps.Results(found), apps.CLAIMS)))

    def test_the_record_has_what_the_tables_need(self):
        asked = {**apps.Results.defaults, **apps.ycsb("A", load="heavy")}
        run = {**application("wflush", 55.55), **asked, "write": {}, "read": {}, "reply": {}}
        kept = durable_apps.recorded(run)
        self.assertNotIn("media", kept)
        self.assertNotIn("reply", kept)
        text = durable_apps.markdown(results(kept))
        self.assertIn("### YCSB, heavy (fig. 11)", text)
        self.assertIn("| wflush | **55.5**; 111.1 |", text)
        self.assertNotIn("PageRank", text)


class Store(unittest.TestCase):
    def test_ratios_are_to_calls_that_wait(self):
        rounds = [{"plain": {"mean_us": 10}, "waits": {"mean_us": 40}, "early": {"mean_us": 20}},
                  {"plain": {"mean_us": 10}, "waits": {"mean_us": 20}, "early": {"mean_us": 20}}]  # fmt: skip
        figures = durable_store.summaries({("A", "heavy"): rounds})["YCSB A, heavy"]
        self.assertEqual(durable_store.cell(figures, "early"), "**20** (x0.75, 0.62..0.88)")
        self.assertEqual(durable_store.cell(figures, "waits"), "**30**")

    def test_of_pagerank_the_time_of_all_is_compared(self):
        rounds = [{"plain": {"seconds": 0.1}, "waits": {"seconds": 0.5}, "early": {"seconds": 0.25}}]
        figures = durable_store.summaries({("enron", "light"): rounds})["PageRank, enron, light"]
        self.assertEqual(durable_store.cell(figures, "early"), "**250** (x0.50, 0.50..0.50)")


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
