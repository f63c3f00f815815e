"""What Skein, in its default mode, is to reach, row by row; and whether a run's figures do."""

import dataclasses

import plan
import statistics_of
from neighbours import PINNED
from plan import IN_PROCESS, MIB, SKEIN, TCP, UNIX, Load


@dataclasses.dataclass(frozen=True, eq=False)
class Ratio:
    """A figure of Skein's beside the other transports' of the same rounds: how many times better it is to be."""

    load: Load
    figure: str
    times: dict  # transport: at least


@dataclasses.dataclass(frozen=True, eq=False)
class Bound:
    """A figure of Skein's that is to stay below a number; TCP's is told beside it."""

    what: str
    scenario: str  # its name
    figures: tuple
    of: object  # function of a figure's rounds
    most: float
    form: str


def better(tcp, unix=None, in_process=None):
    told = {TCP: tcp, UNIX: unix, IN_PROCESS: in_process}
    return {transport: times for transport, times in told.items() if times is not None}


def worst_to_best(values):
    return max(values) / min(values)


IN_A_ROW = next(scenario for scenario in plan.report() if scenario.together)

ROWS = (
    Ratio(Load(), "p50_us", better(9, 8, 4)),
    Ratio(Load(), "p99_us", better(4, 4, 2)),
    Ratio(Load("callback"), "p50_us", better(7, 5, 2)),
    Ratio(Load("callback"), "p99_us", better(2, 1.5, 1)),
    Bound("p50, worst of the processes to the best", IN_A_ROW.name, ("p50_us",), worst_to_best, 1.5, "{:.2f}"),
    Ratio(Load(callers=8), "calls_per_s", better(1.6, 1.4)),
    Ratio(Load("callback", callers=8), "calls_per_s", better(2.1, 1.8)),
    *(
        Ratio(Load(api, callers=callers), "calls_per_s", better(1.2, 1))
        for callers in (64, 256)
        for api in plan.APIS
    ),
    Ratio(Load("stream"), "calls_per_s", better(3)),
    Ratio(Load("stream", callers=64), "calls_per_s", better(1.5)),
    Ratio(Load(size=MIB), "mb_per_s", better(2.5, 2.3)),
    Ratio(Load(size=16 * MIB), "mb_per_s", better(2.5, 2.3)),
    Ratio(Load(callers=8, rate=plan.ASKED_RATE), "cpu_us", better(1)),
    Ratio(Load("callback", rate=plan.ASKED_RATE), "cpu_us", better(1)),
    Ratio(Load(beside=PINNED), "p50_us", better(1)),
    Ratio(Load("callback", beside=PINNED), "p50_us", better(1)),
    Bound("the busier end's processor time, % of one", Load(measure="idle", channels=100).name,
          ("client_cpu_percent", "server_cpu_percent"), max, 0.1, "{:.3f}"),
)  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False)
class Answer:
    """A row's: what was found, as (median, least, most) by transport name or None, and what was missed."""

    row: object
    skein: float
    found: dict
    missed: tuple  # transports' titles; of a bound, Skein's


def times_better(figure, ratios):
    """(median, least, most) of how many times better; of what takes less time, the ratio's inverse."""
    gains = ratios if figure.endswith("_per_s") else [1 / ratio for ratio in ratios]
    told = statistics_of.summary(gains)
    return told["median"], told["min"], told["max"]


def of_ratio(row, scenarios):
    told = scenarios.get(row.load.name, {}).get(SKEIN.name, {}).get(row.figure)
    if told is None:
        return None
    found = {
        transport: times_better(row.figure, told["ratios"][transport.name])
        for transport in row.times
        if transport.name in told["ratios"]
    }
    missed = [transport.title for transport, times in row.times.items() if found.get(transport, (0,))[0] < times]
    return Answer(row, statistics_of.summary(told["values"])["median"], found, tuple(missed))


def of_bound(row, scenarios):
    transports = scenarios.get(row.scenario, {})
    if not all(transports.get(transport.name) for transport in (SKEIN, TCP)):
        return None
    values = {
        transport: max(row.of(transports[transport.name][figure]["values"]) for figure in row.figures)
        for transport in (SKEIN, TCP)
    }
    return Answer(row, values[SKEIN], {TCP: values[TCP]}, () if values[SKEIN] <= row.most else (SKEIN.title,))


def answers(scenarios):
    """(row, Answer or None: not measured) of each row; `scenarios`: {name: {transport name: figures}}."""
    for row in ROWS:
        yield row, (of_ratio if isinstance(row, Ratio) else of_bound)(row, scenarios)
