"""The tables and plots of services.py's results, each plan's between markers of its own in docs/performance.md."""

import dataclasses
import re
import typing

import plan
import wanted
from harness import plots, statistics_of, table
from harness.page import Page
from plan import MIB, REMOTE_LARGE, SKEIN, SKEIN_BLOCK, SKEIN_HTTP2, TCP, Load

BEGIN = "<!-- figures: written by bench/macro/report.py, do not edit -->"
BEGIN_VM = "<!-- figures of two virtual machines: written by bench/macro/report.py, do not edit -->"
BEGIN_TRACE = "<!-- figures of tracing: written by bench/macro/report.py, do not edit -->"
BEGIN_BEFORE = "<!-- figures beside an earlier commit: written by bench/macro/report.py, do not edit -->"
BEGIN_BUSY = "<!-- figures beside other programs: written by bench/macro/report.py, do not edit -->"
BEGIN_CURRENT = "<!-- figures of current gRPC: written by bench/macro/report.py, do not edit -->"

# figure: (how it is called, how it is written)
FIGURES = {
    "p50_us": ("p50, us", "{:,.1f}"),
    "p90_us": ("p90, us", "{:,.1f}"),
    "p99_us": ("p99, us", "{:,.1f}"),
    "p999_us": ("p99.9, us", "{:,.1f}"),
    "calls_per_s": ("calls/s", "{:,.0f}"),
    "mb_per_s": ("MB/s each way", "{:,.1f}"),
    "stages_us": ("sum of a call's stages, p50, us", "{:,.1f}"),
    "stages_share": ("of the p50 that the caller measures, %", "{:,.1f}"),
    "cpu_us": ("processor time a call, both ends, us", "{:,.1f}"),
    "client_cpu_percent": ("client's processor time, %", "{:.3f}"),
    "server_cpu_percent": ("server's processor time, %", "{:.3f}"),
    "first_call_us": ("first call, us", "{:,.0f}"),
}


@dataclasses.dataclass(frozen=True)
class Part:
    """A table: rows are figures of the loads that `holds` is true of, columns transports."""

    title: str
    figures: tuple
    holds: typing.Callable


SMALL = ("p50_us", "p99_us", "p999_us", "calls_per_s", "cpu_us", "stages_us", "stages_share")
CROWD = ("p50_us", "p99_us", "calls_per_s", "cpu_us")
LARGE = ("p50_us", "mb_per_s", "cpu_us")
LARGE_SIZES = (REMOTE_LARGE, MIB, 16 * MIB)


def closed(load):
    """As in most tables: calls of gRPC, over one channel, each when its predecessor is answered."""
    return load == Load(load.api, size=load.size, callers=load.callers) and not load.thrift


PARTS = (
    Part("One caller", SMALL, lambda load: closed(load) and (load.size, load.callers) == (64, 1)),
    Part("Callers in a crowd", CROWD, lambda load: closed(load) and load.size == 64 and load.callers in (8, 64, 256)),
    Part("Large messages", LARGE, lambda load: closed(load) and load.size in LARGE_SIZES),
    Part("A large message beside", CROWD, lambda load: load.large),
    Part("Open loop, one rate", SMALL, lambda load: load.rate == plan.ASKED_RATE),
    Part("Busy processors", ("p50_us", "p99_us", "calls_per_s"), lambda load: load.beside or load.quota),
    Part("Idle connections", ("client_cpu_percent", "server_cpu_percent"), lambda load: load.measure == "idle"),
    Part("New process, new channel", ("first_call_us",), lambda load: load.measure == "first_call"),
    Part("Thrift", SMALL, lambda load: load.thrift and load == Load(load.api, callers=load.callers)),
    Part("Thrift, large messages", LARGE, lambda load: load.thrift and load.size in LARGE_SIZES),
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Curve:
    """A plot: a figure of some loads by one of their properties, a line for each transport."""

    file: str
    title: str
    x: str  # a property of Load
    x_title: str
    figure: str
    y_title: str
    holds: typing.Callable
    log: bool = False
    label: typing.Callable = "{:,}".format
    unit: float = 1  # of y, in the figure's


def short_size(size):
    """65536 as '64K'."""
    return re.sub("i?B| ", "", plan.size_text(size))


def by_size(load):
    return closed(load) and (load.api, load.callers) == ("sync", 1)


def by_rate(load):
    return load == Load("callback", rate=load.rate) and load.rate > 0


RATE = {"figure": "calls_per_s", "y_title": "thousand calls/s", "unit": 1000}
SIZE = {"x": "size", "x_title": "bytes of a request and of its reply", "label": short_size, "holds": by_size}
CURVES = (
    Curve("size-p50", "One caller, sync: latency", figure="p50_us", y_title="p50, us", log=True, **SIZE),
    Curve("size-mb", "One caller, sync: bandwidth", figure="mb_per_s", y_title="MB/s each way", **SIZE),
    *(
        Curve(f"callers-{api}", f"64 B, {api}: rate", "callers", "callers", **RATE,
              holds=lambda load, api=api: closed(load) and (load.api, load.size) == (api, 64))
        for api in (*plan.APIS, "stream")
    ),
    Curve("channels", "64 B, callback, 64 callers: rate", "channels", "channels that they take by turns", **RATE,
          holds=lambda load: load == Load("callback", callers=64, channels=load.channels)),
    *(
        Curve(f"rate-{figure.removesuffix('_us')}", f"64 B, callback, open loop: {title}", "rate", "calls/s offered",
              figure, f"{title}, us", by_rate, log=True)
        for figure, title in (("p50_us", "p50"), ("p99_us", "p99"))
    ),
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Section:
    """What the page has of a plan's results, besides tables, and where."""

    begin: str
    wanted: bool = False
    curves: tuple = ()
    rare: tuple = ()  # figures that so few calls cannot have
    base: str = "TCP (or TLS)"
    parts: bool = True  # its tables are PARTS; else what other programs take from it


SECTIONS = {
    "report": Section(BEGIN, wanted=True, curves=CURVES),
    "quick": Section(BEGIN, curves=CURVES),
    "busy": Section(BEGIN_BUSY, base="TCP", parts=False),
    "trace": Section(BEGIN_TRACE, rare=("p999_us",), base="Skein without tracing"),
    "before": Section(BEGIN_BEFORE, rare=("p999_us",), base="Skein before"),
    "current-grpc": Section(BEGIN_CURRENT, wanted=True, base="TCP"),
    "vm": Section(BEGIN_VM, rare=("p999_us",)),
}


def section_of(results):
    return SECTIONS[results["settings"]["plan"]]


def loads_of(results, holds):
    """(scenario, its load) of those that are scattered over the run and for which `holds` is true."""
    for scenario in results["scenarios"]:
        load = Load(**scenario["load"])
        if scenario["name"] == load.name and holds(load):
            yield scenario, load


def cell(told, form):
    """'**27.0** (25.1..29.0), x0.42': the median, the spread over rounds, the median of ratios to the first base."""
    if not told:
        return ""
    ratios = {"ratio": statistics_of.summary(each) for each in list(told["ratios"].values())[:1]}
    return table.cell({**statistics_of.summary(told["values"]), **ratios}, form)


def part_table(results, part, rows):
    scenarios = [scenario for scenario, _ in loads_of(results, part.holds)]
    transports = list(dict.fromkeys(name for scenario in scenarios for name in scenario["transports"]))
    lines = []
    for scenario in scenarios:
        for figure in (each for each in part.figures if each not in section_of(results).rare):
            title, form = FIGURES[figure]
            cells = [cell(scenario["transports"].get(name, {}).get(figure), form) for name in transports]
            if any(cells):
                lines.append([scenario["name"], title, *cells])
    return rows([part.title, "", *(results["titles"][name] for name in transports)], lines) if lines else []


NOISE = 0.05  # that much worse than TCP is not told from it


def busy_cell(figures):
    """'p50 x0.98, p99 **x1.20**, calls/s x1.01': medians of the ratios to TCP; what is worse than TCP's in bold."""
    words = []
    for figure in ("p50_us", "p99_us", "calls_per_s"):
        median = statistics_of.summary(figures[figure]["ratios"][TCP.name])["median"]
        worse = median < 1 - NOISE if figure.endswith("_per_s") else median > 1 + NOISE
        title = FIGURES[figure][0].removesuffix(", us")
        words.append(f"{title} **x{median:.2f}**" if worse else f"{title} x{median:.2f}")
    return ", ".join(words)


def busy_tables(results, rows):
    """Skein beside TCP: a line for each load, a column for each kind of neighbours; then the same for quotas."""
    for heading, told in (("beside", lambda load: load.beside or "nothing"), ("quota", lambda load: f"{load.quota} of 100 ms")):
        cells = {}
        for scenario, load in loads_of(results, lambda load: bool(load.quota) == (heading == "quota")):
            alone = dataclasses.replace(load, beside="", quota=0)
            if figures := scenario["transports"].get(SKEIN.name):
                cells.setdefault(alone.name, {})[told(load)] = busy_cell(figures)
        columns = list(dict.fromkeys(column for line in cells.values() for column in line))
        if cells:
            lines = [[name, *(line.get(column, "") for column in columns)] for name, line in cells.items()]
            yield rows([f"Skein, {heading}", *columns], lines)


def wanted_line(row, answer):
    what = (row.load.name, FIGURES[row.figure][0]) if isinstance(row, wanted.Ratio) else (row.scenario, row.what)
    if answer is None:
        return [*what, "", "", "not measured"]
    reached = "yes" if answer.reached else "**no**"
    if isinstance(row, wanted.Bound):
        mine, tcp = (row.form.format(value) for value in (answer.skein, answer.found))
        return [*what, f"**{mine}**, at most {row.most:g}", f"TCP's own: {tcp}", reached]
    skein = FIGURES[row.figure][1].format(answer.skein)
    return [*what, skein, wanted_cell(row, answer), reached]


def wanted_cell(row, answer):
    """'**x3.1** (2.9..3.6) of 4': how many times better than TCP, the spread over rounds, and what is wanted."""
    median, least, most = answer.found
    return f"**x{median:.2f}** ({least:.2f}..{most:.2f}) of {row.times:g}"


def wanted_table(results, rows):
    scenarios = {scenario["name"]: scenario["transports"] for scenario in results["scenarios"]}
    # Of a part of a run, the rest is not missed.
    partial = results["settings"]["only"]
    lines = [wanted_line(row, answer) for row, answer in wanted.answers(results["settings"]["plan"], scenarios)
             if answer or not partial]  # fmt: skip
    return rows(["wanted", "", SKEIN.title, f"times better than {TCP.title}", "reached"], lines) if lines else []


def about(results):
    """When, where and how it was measured."""
    on, settings, guest = results["machine"], results["settings"], results.get("guest")
    guests = f"two guests, each with {guest['cores']} cores of {guest['cpu']}, Linux {guest['kernel']}, on " if guest else ""
    earlier = f", and before it {settings['before']}" if "before" in settings else ""
    loads = " to ".join(f"{load:.1f}" for load in results["load_averages"])
    rounds = [len(figure["values"]) for each in results["scenarios"] for told in each["transports"].values()
              for figure in told.values()]  # fmt: skip
    limits = [f"only scenarios with '{settings['only']}'"] if settings["only"] else []
    limits += [f"{settings['rounds']} rounds instead of each scenario's own number"] if settings["rounds"] else []
    words = (
        f"{results['date'][:10]}, commit {on['commit']}{earlier}, {guests}{on['cores']} cores of {on['cpu']} ({on['virtual']}),"
        f" {on['memory_gib']} GiB of memory, Linux {on['kernel']}, gRPC {on['grpc']}; load average {loads};"
        f" {results['minutes']:g} minutes. {min(rounds, default=0)} to {max(rounds, default=0)} rounds of"
        f" {settings['duration']:g} s a figure; seed {settings['seed']}. Medians"
        f" (lowest..highest round), and the median of the ratios to {section_of(results).base} in the same round."
    )
    return words + (f" **Not a whole run: {', '.join(limits)}.**" if limits else "")


def brief(why):
    """Of several lines the first, which says what failed, and the last, which says how."""
    lines = [line for line in why.splitlines() if line]
    return " ".join(dict.fromkeys((lines[0], lines[-1])))


def failures(results):
    for scenario in results["scenarios"]:
        for failure in scenario["failures"]:
            yield f"- {scenario['name']}, {failure['transport']}: {brief(failure['why'])}"


def left_out(results):
    scenarios = {}  # of each reason
    for scenario in results["scenarios"]:
        for name, why in scenario.get("left_out", {}).items():
            scenarios.setdefault((name, why), []).append(scenario["name"])
    for (name, why), names in scenarios.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield f"- {results['titles'][name]}, {names[0]}{more}: {brief(why)}"


def charts(results):
    """{file name, without .svg: chart}."""
    drawn = {}
    for curve in section_of(results).curves:
        lines = {}
        for scenario, load in loads_of(results, curve.holds):
            for name, figures in scenario["transports"].items():
                if curve.figure in figures and name not in (SKEIN_BLOCK.name, SKEIN_HTTP2.name):
                    median = statistics_of.summary(figures[curve.figure]["values"])["median"]
                    line = lines.setdefault(results["titles"][name], [])
                    line.append((getattr(load, curve.x), median / curve.unit))
        if lines and max(map(len, lines.values())) > 1:
            lines = {title: sorted(line) for title, line in lines.items()}
            drawn[curve.file] = plots.chart(curve.title, curve.x_title, curve.y_title, lines, curve.log, curve.label)
    return drawn


def tables(results, rows):
    """Blocks of lines; `rows` lays a table out."""
    yield [about(results)]
    if failed := list(failures(results)):
        yield ["Failed, and left out with all of its round:", "", *failed]
    if never := list(left_out(results)):
        yield ["Not to be measured here:", "", *never]
    wanted_first = [wanted_table(results, rows)] if section_of(results).wanted else []
    parts = (part_table(results, part, rows) for part in PARTS) if section_of(results).parts else busy_tables(results, rows)
    yield from filter(None, [*wanted_first, *parts])


def text(blocks):
    return "\n\n".join("\n".join(block) for block in blocks)


def terminal(results):
    return text(tables(results, table.aligned)).replace("**", "")


def markdown(results):
    images = [f"![{name}](performance/{name}.svg)" for name in charts(results)]
    pairs = [" ".join(images[i : i + 2]) for i in range(0, len(images), 2)]
    return text([*tables(results, table.rows), *([pair] for pair in pairs)])


def page(results):
    return Page("performance.md", section_of(results).begin, markdown, charts)
