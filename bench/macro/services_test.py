"""What is planned, in which order, and what is kept of it; on invented figures."""

import argparse
import collections
import contextlib
import io
import itertools
import json
import os
import pathlib
import random
import sys
import tempfile
import unittest
import unittest.mock

import plan
import services
import stage
from neighbours import PINNED
from plan import IN_PROCESS, SKEIN, TCP, UNIX, Load, Scenario


class InventedStage:
    """`figure(load, transport)` -> what a measurement gives."""

    def __init__(self, figure, obstacle=lambda load, transport: ""):
        self.measure = lambda load, transport, seconds: figure(load, transport)
        self.obstacle = obstacle


def measured(scenarios, here, seed=1):
    options = argparse.Namespace(scenarios=scenarios, seed=seed, duration=0.5, build=pathlib.Path("build"))
    with contextlib.redirect_stderr(io.StringIO()):
        return services.measure(here, options)


class Plan(unittest.TestCase):
    def test_has_each_name_once(self):
        for scenarios in (plan.report(), plan.quick(), plan.before(), plan.vm(), plan.busy()):
            counts = collections.Counter(scenario.name for scenario in scenarios)
            self.assertEqual(counts.most_common(1)[0][1], 1, counts.most_common(1))

    def test_joins_what_several_questions_need(self):
        (one,) = (each for each in plan.report() if each.name == Load().name)
        self.assertEqual({*one.transports}, {*plan.LOCAL, plan.SKEIN_BLOCK, plan.SKEIN_HTTP2})
        self.assertEqual(one.rounds, plan.MANY)

    def test_names(self):
        self.assertEqual(Load("callback", rate=4000).name, "callback, 64 B, 4,000 calls/s")
        self.assertEqual(Load(callers=8, rate=4000).name, "sync, 64 B, 8 callers, 4,000 calls/s")
        self.assertEqual(Load("stream", size=plan.MIB, callers=1).name, "stream, 1 MiB, 1 stream")
        self.assertEqual(Load(measure="idle", channels=100).name, "sync, idle, 100 channels")
        self.assertEqual(Load(beside=PINNED).name, "sync, 64 B, 1 caller, beside a loop on each processor")
        self.assertEqual(Load("thrift", quota=30).name, "thrift, 64 B, 1 caller, quota 30 of 100 ms")


class Programs(unittest.TestCase):
    def test_of_a_transport_before_are_the_earlier_builds(self):
        with stage.Stage(pathlib.Path("now"), pathlib.Path("then")) as here:
            for load in (Load(), Load("thrift")):
                self.assertRegex(here.obstacle(load, plan.SKEIN_BEFORE), "not built")
            self.assertEqual(here._thrift(plan.SKEIN_BEFORE).parts[0], "then")
            self.assertEqual(here._program(SKEIN, "client", True).parts[0], "now")


class Turns(unittest.TestCase):
    def test_every_round_of_every_scenario_and_some_together(self):
        apart, together = Scenario(Load(), (TCP,), 5), Scenario(Load("async"), (TCP,), 20, together=True)
        for seed in range(20):
            turns = services.turns([apart, together], random.Random(seed))
            self.assertEqual(collections.Counter(turns), {apart: 5, together: 20})
            self.assertEqual(sum(one != other for one, other in itertools.pairwise(turns)) <= 2, True)

    def test_have_another_order_by_another_seed_alone(self):
        scenarios = plan.report()
        orders = [services.turns(scenarios, random.Random(seed)) for seed in (1, 1, 2)]
        self.assertEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], orders[2])


class Measurements(unittest.TestCase):
    def test_ratios_are_of_the_same_round(self):
        # The machine becomes slower and slower; Skein takes half of TCP's time all along.
        clock = itertools.count(1)
        speed = {TCP: 2, UNIX: 3, SKEIN: 1}
        scenario = Scenario(Load(), plan.SOCKETS, 9)
        here = InventedStage(lambda load, transport: {"p50_us": speed[transport] * 10 ** (next(clock) // 3 * 0.1)})
        (told,) = measured([scenario], here)
        figures = told["transports"]
        self.assertEqual(len(figures["skein"]["p50_us"]["values"]), 9)
        self.assertEqual(set(figures["skein"]["p50_us"]["ratios"]), {"tcp", "unix"})
        self.assertEqual(figures["tcp"]["p50_us"]["ratios"]["tcp"], [1] * 9)
        for ratio, base in zip(figures["skein"]["p50_us"]["ratios"]["tcp"], figures["tcp"]["p50_us"]["values"]):
            self.assertTrue(0.3 < ratio < 0.8, ratio)
            self.assertGreater(base, 0)

    def test_a_failed_round_is_left_out_and_told(self):
        calls = itertools.count()

        def figure(load, transport):
            if transport == SKEIN and next(calls) == 1:
                raise stage.Failure("it died")
            return {"p50_us": 1.0}

        (told,) = measured([Scenario(Load(), (TCP, SKEIN), 3)], InventedStage(figure))
        self.assertEqual(told["failures"], [{"transport": "skein", "why": "it died"}])
        self.assertEqual({name: len(each["p50_us"]["values"]) for name, each in told["transports"].items()},
                         {"tcp": 2, "skein": 2})  # fmt: skip

    def test_what_is_not_built_is_not_measured(self):
        here = InventedStage(lambda load, transport: {"p50_us": 1.0},
                             lambda load, transport: "no program" if transport.needs_skein else "")  # fmt: skip
        (told,) = measured([Scenario(Load(), plan.LOCAL, 1)], here)
        self.assertEqual(set(told["transports"]), {"tcp", "unix", "in-process"})
        self.assertEqual(told["left_out"], {"skein": "no program"})
        with self.assertRaises(SystemExit):
            measured([Scenario(Load(), (SKEIN,), 1)], here)

    def test_of_the_idle_have_no_ratios_and_take_longer(self):
        asked = []
        here = InventedStage(None)
        here.measure = lambda load, transport, seconds: asked.append(seconds) or {"client_cpu_percent": 0.0}
        (told,) = measured([Scenario(Load(measure="idle"), (TCP, SKEIN), 1)], here)
        self.assertEqual(asked, [10, 10])
        self.assertEqual(told["transports"]["skein"]["client_cpu_percent"]["ratios"], {})

    def test_without_a_base_there_is_no_ratio(self):
        here = InventedStage(lambda load, transport: {"cpu_us": 1.0} if transport == IN_PROCESS else {"p50_us": 1.0})
        (told,) = measured([Scenario(Load(), (TCP, IN_PROCESS), 1)], here)
        self.assertEqual(told["transports"]["in-process"]["cpu_us"]["ratios"], {"in-process": [1.0]})
        json.dumps(told)


class Arguments(unittest.TestCase):
    def parse(self, *arguments):
        with unittest.mock.patch.object(sys, "argv", ["services.py", *arguments]):
            return services.parse_arguments()

    def refused(self, *arguments):
        """What is said to it."""
        with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(io.StringIO()) as told:
            self.parse(*arguments, "--build=now")
        self.assertEqual(ended.exception.code, 2)
        return told.getvalue()

    def test_choose_scenarios(self):
        options = self.parse("report", "--build=build/release", "--only=^thrift, idle$", "--rounds=2")
        self.assertEqual([(each.name, each.rounds) for each in options.scenarios], [("thrift, idle", 2)])
        self.assertEqual(options.out.name, "bench_report.json")
        self.assertEqual(self.parse("quick", "--build=build/release").out.name, "bench_quick.json")

    def test_of_guests_have_a_duration_and_a_file_of_their_own(self):
        options = self.parse("vm", "--build=build/release")
        self.assertEqual((options.duration, options.out.name), (services.PLANS["vm"].duration, "bench_vm.json"))
        self.assertEqual(self.parse("vm", "--build=build/release", "--duration=0.1").duration, 0.1)

    def test_before_takes_an_earlier_build_and_nothing_else_does(self):
        then = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        self.assertIn("no build with the benchmarks", self.refused("before", f"--before={then}"))
        (then / "bench").mkdir()
        self.assertEqual(self.parse("before", "--build=now", f"--before={then}").before, then)
        for words in (["before"], ["quick", f"--before={then}"]):
            self.assertIn("takes --before DIR", self.refused(*words))
        self.assertTrue(self.parse("before", "--build=now", "--list").list)

    def test_reach_the_guests(self):
        options = self.parse("vm", "--build=build/release", "--only=^thrift, 64 B, 1", "--rounds=2", "--seed=7")
        found = {"machine": {}, "scenarios": []}
        with unittest.mock.patch.object(services.guests, "two", return_value=found) as run:
            self.assertEqual(services.measure_in_guests(options), {"guest": {}, "scenarios": []})
        name, arguments, _ = run.call_args.args
        script = services.guests.ROOT / "tests/vm/guest" / f"{name}.sh"
        self.assertTrue(os.access(script, os.X_OK), script)
        again = self.parse(*arguments)
        self.assertEqual((again.scenarios, again.duration, again.seed), (options.scenarios, options.duration, 7))

    def test_mistakes_are_told(self):
        for word, arguments in {
            "--qiuck": ("report", "--qiuck"),
            "invalid choice: 'qiuck'": ("qiuck",),
            "no scenario of report": ("report", "--only=there is none"),
            "is no regular expression": ("report", "--only=("),
            "0 is not more than 0": ("report", "--rounds=0"),
            "--duration": ("report", "--duration=1s"),
        }.items():
            with self.subTest(word):
                self.assertIn(word, self.refused(*arguments))
