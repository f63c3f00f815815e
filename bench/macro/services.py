"""./run bench report|quick|busy|trace|before|current-grpc|vm: one service over TCP, a UNIX socket, gRPC's in-process transport and
Skein; or from one virtual machine to another over TCP, rsockets, SMC-R and Skein's RDMA.

busy asks whether anything is slower than over TCP where other programs want the processors, or a quota is short (twenty
minutes).
report measures everything that docs/performance.md tells of one host (half an hour), quick what a user asks first (two
minutes), trace what tracing costs (five minutes), before what has become of the figures since an earlier commit, whose
release build --before names (ten minutes), current-grpc what is wanted of gRPC 1.73 and later (a quarter of an hour), vm
what two virtual machines can do (twenty minutes).
Each figure is of processes of its own. A scenario's transports have their turns one right after the other, in an order
drawn by lot, and every ratio is taken within such a round, so that a machine whose speed drifts (a virtual one, a
laptop) favours none; the rounds of all scenarios are shuffled, too."""

import argparse
import dataclasses
import os
import random
import re
import sys
import time
import typing

import plan
import report
import stage
from harness import arguments, guests, machine, record, statistics_of


@dataclasses.dataclass(frozen=True)
class Plan:
    scenarios: typing.Callable
    duration: float = 0.5  # seconds of one figure
    guests: bool = False  # whether it is measured in virtual machines


PLANS = {
    "report": Plan(plan.report),
    "quick": Plan(plan.quick),
    "busy": Plan(plan.busy, duration=1),
    "trace": Plan(plan.trace),
    "before": Plan(plan.before),
    "current-grpc": Plan(plan.current_grpc),
    "vm": Plan(plan.vm, duration=2, guests=True),
}
GUESTS = "bench_services"  # the script that they run
IDLE = 20  # times as long as other measurements: little is to be seen


def positive(kind):
    def parsed(text):
        value = kind(text)
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is not more than 0")
        return value

    return parsed


def regex(text):
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{text}' is no regular expression: {error}") from error


def scenarios_of(options):
    return [scenario for scenario in PLANS[options.name].scenarios() if options.only.search(scenario.name)]


def wrong(options):
    if not (options.results or options.list) and (options.name == "before") != bool(options.before):
        return "before, and that alone, takes --before DIR: which build is it beside?"
    if not scenarios_of(options):
        return f"--only={options.only.pattern}: no scenario of {options.name} is called like this; see --list"
    return ""


def parse_arguments():
    more = (
        ("--only", {"type": regex, "default": re.compile(""), "help": "scenarios whose name has this in it"}),
        ("--list", {"action": "store_true", "help": "print the names of the scenarios, measure nothing"}),
        ("--rounds", {"type": positive(int), "help": "of each scenario (default: each has its own number)"}),
        ("--duration", {"type": positive(float), "help": f"seconds of a figure; idling takes {IDLE} times as long (default: 0.5, vm 2)"}),
        arguments.BEFORE,
    )  # fmt: skip
    options = arguments.parse(__doc__, *PLANS, page="performance.md", quick=None, more=more, wrong=wrong)
    options.plan, chosen = options.name, PLANS[options.name]
    options.scenarios = scenarios_of(options)
    if options.rounds:
        options.scenarios = [dataclasses.replace(each, rounds=options.rounds) for each in options.scenarios]
    options.duration = options.duration or chosen.duration
    return options


def say(text):
    print(text, file=sys.stderr, flush=True)


def turns(scenarios, rng):
    """Every round of every scenario, shuffled; those that belong together stay so."""
    blocks = [[each] * each.rounds if each.together else [each] for each in scenarios
              for _ in range(1 if each.together else each.rounds)]  # fmt: skip
    rng.shuffle(blocks)
    return [scenario for block in blocks for scenario in block]


class Series:
    """What the rounds of a scenario have given."""

    def __init__(self, scenario, left_out):
        self._scenario = scenario
        self._left_out = left_out
        self._transports = scenario.transports
        self._rounds = []  # {transport name: {figure: value}}
        self._failures = []

    def measure(self, here, seconds, rng):
        """One round. One that fails over some transport has no figures: nothing would be there to compare with."""
        load = self._scenario.load
        found = {}
        for transport in rng.sample(self._transports, len(self._transports)):
            try:
                found[transport.name] = here.measure(load, transport, seconds * (IDLE if load.measure == "idle" else 1))
            except stage.Failure as failure:
                say(f"FAILED: {self._scenario.name}, {transport.name}: {failure}")
                self._failures.append({"transport": transport.name, "why": str(failure)})
                return
        self._rounds.append(found)

    def _told(self, transport):
        if not self._rounds:
            return {}
        values = {figure: [round_[transport.name][figure] for round_ in self._rounds]
                  for figure in self._rounds[0][transport.name]}  # fmt: skip
        return {figure: {"values": those, "ratios": self._ratios(figure, those)} for figure, those in values.items()}

    def _ratios(self, figure, values):
        """{base: one of each round}. Idle processes may take no time at all: a ratio to that would say nothing."""
        if self._scenario.load.measure == "idle":
            return {}
        bases = {base.name: [round_[base.name].get(figure) for round_ in self._rounds]
                 for base in self._scenario.bases if base in self._transports}  # fmt: skip
        return {
            name: [float(f"{ratio:.4g}") for ratio in statistics_of.ratios(values, base)]
            for name, base in bases.items()
            if all(base)
        }

    def told(self):
        return {
            "name": self._scenario.name,
            "load": dataclasses.asdict(self._scenario.load),
            "failures": self._failures,
            "left_out": self._left_out,
            "transports": {transport.name: self._told(transport) for transport in self._transports},
        }


def within(here, scenario):
    """As much of the scenario as can be measured, and {transport name: why it cannot}."""
    obstacles = {transport: here.obstacle(scenario.load, transport) for transport in scenario.transports}
    left_out = {transport.name: why for transport, why in obstacles.items() if why}
    for name, why in left_out.items():
        say(f"{scenario.name}, {name}: left out, for {why}")
    possible = tuple(transport for transport, why in obstacles.items() if not why)
    return dataclasses.replace(scenario, transports=possible), left_out


def measure(here, options):
    """The results of `options.scenarios`, on the stage that `here` is."""
    rng = random.Random(options.seed)
    possible = [within(here, scenario) for scenario in options.scenarios]
    series = {scenario: Series(scenario, left_out) for scenario, left_out in possible if scenario.transports}
    if not series:
        sys.exit(f"bench: not one of the scenarios can be measured with {options.build}")
    begin, order = time.monotonic(), turns(list(series), rng)
    for number, scenario in enumerate(order):
        left = (time.monotonic() - begin) / number * (len(order) - number) / 60 if number else 0
        say(f"{number + 1} of {len(order)}{f', {left:.0f} min left' if number > 9 else ''}: {scenario.name}")
        series[scenario].measure(here, options.duration, rng)
    return [each.told() for each in series.values()]


def measure_in_guests(options):
    """The results of `options.scenarios`, and which machine the guests take theirs for."""
    asked = [options.plan, f"--build={options.build}", f"--only={options.only.pattern}", f"--duration={options.duration}",
             f"--seed={options.seed}"]  # fmt: skip
    asked += [f"--rounds={options.rounds}"] if options.rounds else []
    figures = sum(each.rounds * len(each.transports) for each in options.scenarios)
    found = guests.two(GUESTS, asked, round(600 + figures * (options.duration + 60)))
    return {"guest": found["machine"], "scenarios": found["scenarios"]}


def results_of(options):
    loads, begin = [os.getloadavg()[0]], time.monotonic()
    heading = record.heading(options, "plan", "seed", "rounds", "duration")
    heading["settings"]["only"] = options.only.pattern
    if options.before:
        heading["settings"]["before"] = machine.commit_of(options.before)
    if PLANS[options.plan].guests:
        measured = measure_in_guests(options)
    else:
        with stage.Stage(options.build, options.before) as here:
            measured = {"scenarios": measure(here, options)}
    loads.append(os.getloadavg()[0])
    titles = {transport.name: transport.title for scenario in options.scenarios for transport in scenario.transports}
    return {**heading, "environment": stage.MALLOC, "minutes": round((time.monotonic() - begin) / 60, 1), "load_averages": loads,
            "titles": titles, **measured}  # fmt: skip


def main():
    options = parse_arguments()
    if options.list:
        print("\n".join(scenario.name for scenario in options.scenarios))
        return
    found = record.of(options, lambda: results_of(options))
    print(report.terminal(found))
    if options.docs:
        report.page(found).write(found, options.docs)
    failed = {failure["transport"] for scenario in found["scenarios"] for failure in scenario["failures"]}
    sys.exit(1 if failed - plan.FOREIGN else 0)


if __name__ == "__main__":
    main()
