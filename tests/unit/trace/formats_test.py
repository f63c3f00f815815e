"""What the exporters write, as parsers that are not ours read it. formats_test.py WRITE_SAMPLES"""

import collections
import decimal
import json
import subprocess
import sys
import unittest

from prometheus_client.parser import text_string_to_metric_families

HOSTILE_NAMES = 11 + 256  # of samples.h
PROGRAM = sys.argv.pop(1)


def written(what):
    return subprocess.run([PROGRAM, what], capture_output=True, check=True).stdout.decode("ascii")


class Prometheus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.families = list(text_string_to_metric_families(written("prometheus")))
        cls.samples = [sample for family in cls.families for sample in family.samples]

    def of(self, name):
        return [sample for sample in self.samples if sample.name == name]

    def test_each_family_has_a_name_of_its_own_a_type_and_help(self):
        names = [family.name for family in self.families]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual({family.type for family in self.families}, {"counter", "gauge", "summary"})
        for family in self.families:
            self.assertTrue(family.documentation, family.name)
            self.assertTrue(family.samples, family.name)

    def test_nothing_is_forged(self):
        self.assertTrue(all(sample.name.startswith("skein_") for sample in self.samples))
        self.assertFalse(self.of("skein_forged"))

    def test_no_series_is_there_twice(self):
        seen = collections.Counter((sample.name, frozenset(sample.labels.items())) for sample in self.samples)
        self.assertEqual([series for series, times in seen.items() if times > 1], [])

    def test_labels_and_values(self):
        paths = {sample.labels["path"]: sample.value for sample in self.of("skein_bytes_sent_total")}
        self.assertEqual(paths, {"shm": 1, "rdma": 2, "tcp": 3, "sim": 4})
        reasons = {sample.labels["reason"] for sample in self.of("skein_fallbacks_total")}
        self.assertIn("different network namespace or host", reasons)
        self.assertIn("unknown reason", reasons)

    def test_every_call_is_counted_and_each_summary_is_whole(self):
        counts = self.of("skein_call_seconds_count")
        self.assertEqual(sum(sample.value for sample in counts), HOSTILE_NAMES)
        quantiles = self.of("skein_call_seconds")
        self.assertEqual({sample.labels["quantile"] for sample in quantiles}, {"0.5", "0.9", "0.99", "0.999"})
        self.assertEqual(len(quantiles), 4 * len(counts))
        self.assertEqual(len(self.of("skein_call_seconds_sum")), len(counts))
        self.assertTrue(all(sample.value == 11e-6 for sample in self.of("skein_call_seconds_max")))

    def test_intervals_add_up_to_the_calls(self):
        parts = sum(sample.value for sample in self.of("skein_interval_seconds_sum")
                    if sample.labels["kind"] == "call" and not sample.labels["interval"].endswith("persisted"))
        self.assertAlmostEqual(parts, sum(sample.value for sample in self.of("skein_call_seconds_sum")), places=9)


class ChromeTrace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.events = json.loads(written("chrome"), parse_float=decimal.Decimal)["traceEvents"]
        cls.bars = []  # of events that begin and end: with a duration, and the one that they lie in, if any
        cls.lanes = collections.defaultdict(list)  # what is still open, by process and thread, as viewers see it
        latest = collections.defaultdict(decimal.Decimal)
        for event in cls.events:
            lane = event["pid"], event.get("tid")
            if event["ph"] == "B":
                within = cls.lanes[lane][-1] if cls.lanes[lane] else None
                cls.lanes[lane].append({**event, "within": within})
            elif event["ph"] == "E":
                begun = cls.lanes[lane].pop()
                assert event["name"] == begun["name"]
                cls.bars.append({**begun, "dur": event["ts"] - begun["ts"]})
            if event["ph"] in "BE":
                assert event["ts"] >= latest[lane], "in the order of time"
                latest[lane] = event["ts"]

    def test_events_have_what_the_format_asks_for(self):
        self.assertLessEqual({event["ph"] for event in self.events}, set("BEM"))
        for event in self.bars:
            self.assertLessEqual({"name", "cat", "pid", "tid", "ts"}, event.keys())
            self.assertGreaterEqual(event["dur"], 0)
        named = {event["pid"] for event in self.events if event["ph"] == "M"}
        self.assertEqual({event["pid"] for event in self.bars}, named)

    def test_all_that_begin_end(self):
        self.assertGreater(len(self.lanes), 1)
        self.assertFalse(any(self.lanes.values()))

    def test_intervals_add_up_to_the_call(self):
        by_id = collections.defaultdict(decimal.Decimal)
        for event in self.bars:
            if event["within"]:
                by_id[event["within"]["args"]["id"]] += event["dur"]
        calls = [event for event in self.bars if event["cat"] == "call" and not event["name"].endswith("persisted")]
        self.assertEqual(len(calls), HOSTILE_NAMES)
        for call in calls:
            self.assertIsNone(call["within"])
            self.assertEqual(call["dur"], by_id[call["args"]["id"]])

    def test_names_stay_different(self):
        names = {event["name"] for event in self.bars if event["cat"] == "call"}
        self.assertIn("/greeter.Greeter/Say", names)
        self.assertEqual(len(names), HOSTILE_NAMES + 1)  # and "submitted to persisted"


if __name__ == "__main__":
    unittest.main()
