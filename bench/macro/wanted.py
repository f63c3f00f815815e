"""What Skein, in its default mode, is to reach, row by row; and whether a run's figures do."""

import dataclasses

import plan
from harness import statistics_of
from neighbours import PINNED
from plan import FALLBACK, MIB, SKEIN, TCP, Load


@dataclasses.dataclass(frozen=True, eq=False)
class Ratio:
    """A figure of Skein's beside TCP's of the same rounds: how many times better it is to be."""

    load: Load
    figure: str
    times: float  # at least
    transport: str = SKEIN.name


@dataclasses.dataclass(frozen=True, eq=False)
class Bound:
    """A figure of Skein's that is to stay below a number; TCP's is told beside it."""

    what: str
    scenario: str  # its name
    figures: tuple
    of: object  # function of a figure's rounds
    most: float
    form: str


def worst_to_best(values):
    return max(values) / min(values)


RATES = {("sync", 8): 3, ("async", 8): 3, ("callback", 8): 2, ("sync", 64): 1.5, ("async", 64): 1.6, ("callback", 64): 1.6}

REPORT = (
    Ratio(Load(), "p50_us", 4),
    Ratio(Load(), "p99_us", 2.3),
    Ratio(Load("callback"), "p50_us", 2.5),
    Ratio(Load("callback"), "p99_us", 1.5),
    *(
        Bound("p50, worst of the processes to the best", scenario.name, ("p50_us",), worst_to_best, 1.5, "{:.2f}")
        for scenario in plan.IN_A_ROW
    ),
    *(Ratio(Load(api, callers=callers), "calls_per_s", times) for (api, callers), times in RATES.items()),
    *(Ratio(Load(api, callers=256), "calls_per_s", 1.3) for api in plan.APIS),
    *(Ratio(Load(api, callers=callers), "p99_us", 1) for callers in (8, 64, 256) for api in plan.APIS),
    Ratio(Load("stream"), "calls_per_s", 3),
    Ratio(Load("stream", callers=64), "calls_per_s", 1.5),
    *(Ratio(Load("stream", callers=streams), "p99_us", 1) for streams in plan.STREAMS),
    Ratio(Load(size=MIB), "mb_per_s", 1.5),
    Ratio(Load(size=16 * MIB), "mb_per_s", 1.5),
    Ratio(Load(large=16 * MIB), "p99_us", 1),
    Ratio(Load(callers=8), "cpu_us", 1.82),
    Ratio(Load(callers=8, rate=plan.ASKED_RATE), "cpu_us", 1.18),
    Ratio(Load("callback", rate=plan.ASKED_RATE), "cpu_us", 1.18),
    Ratio(Load(beside=PINNED), "p50_us", 1),
    Ratio(Load("callback", beside=PINNED), "p50_us", 1),
    Bound("the busier end's processor time, % of one", Load(measure="idle", channels=100).name,
          ("client_cpu_percent", "server_cpu_percent"), max, 0.1, "{:.3f}"),
)  # fmt: skip

CURRENT_GRPC = (
    Ratio(Load(), "p50_us", 2.2),
    Ratio(Load(), "p99_us", 1),
    Ratio(Load("callback"), "p50_us", 1.8),
    *(Ratio(Load(api, callers=8), "calls_per_s", 1.5) for api in ("sync", "callback")),
    *(Ratio(Load(api, callers=64), "calls_per_s", 1) for api in ("sync", "callback")),
    *(Ratio(Load(callers=callers), "p99_us", 1) for callers in (8, 64)),
    *(
        Ratio(Load(api, callers=callers, beside=beside), "p50_us", 1)
        for api in ("sync", "callback")
        for beside in plan.CURRENT_GRPC_BESIDE
        for callers in (1, 8, 64)
    ),
    *(Ratio(Load(api, size=MIB), "mb_per_s", 1.4) for api in ("sync", "callback")),
    Ratio(Load(measure="first_call"), "first_call_us", 0.87, FALLBACK.name),  # 1 / 1.15
    Bound("the busier end's processor time, % of one", Load(measure="idle", channels=100).name,
          ("client_cpu_percent", "server_cpu_percent"), max, 0.1, "{:.3f}"),
)  # fmt: skip

# Of each plan that is to reach something.
ROWS = {"report": REPORT, "current-grpc": CURRENT_GRPC}


@dataclasses.dataclass(frozen=True, eq=False)
class Answer:
    """A row's."""

    row: object
    skein: float
    found: object  # beside TCP: (median, least, most) times better; of a bound, TCP's own
    reached: bool


def times_better(figure, ratios):
    """(median, least, most) of how many times better; of what takes less time, the ratio's inverse."""
    gains = ratios if figure.endswith("_per_s") else [1 / ratio for ratio in ratios]
    told = statistics_of.summary(gains)
    return told["median"], told["min"], told["max"]


def of_ratio(row, scenarios):
    told = scenarios.get(row.load.name, {}).get(row.transport, {}).get(row.figure)
    if told is None or TCP.name not in told["ratios"]:
        return None
    found = times_better(row.figure, told["ratios"][TCP.name])
    return Answer(row, statistics_of.summary(told["values"])["median"], found, found[0] >= row.times)


def of_bound(row, scenarios):
    transports = scenarios.get(row.scenario, {})
    if not all(transports.get(transport.name) for transport in (SKEIN, TCP)):
        return None
    values = {
        transport: max(row.of(transports[transport.name][figure]["values"]) for figure in row.figures)
        for transport in (SKEIN, TCP)
    }
    return Answer(row, values[SKEIN], values[TCP], values[SKEIN] <= row.most)


def answers(plan_name, scenarios):
    """(row, Answer or None: not measured) of each row; `scenarios`: {name: {transport name: figures}}."""
    for row in ROWS[plan_name]:
        yield row, (of_ratio if isinstance(row, Ratio) else of_bound)(row, scenarios)
