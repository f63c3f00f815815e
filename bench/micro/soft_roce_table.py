"""The tables of soft_roce.py's results."""

from harness import table
from harness.page import Page

TITLES = {
    "perftest": "ib_write_lat, ib_write_bw",
    "write": "Skein, WRITEs of core/fabric",
    "tcp": "TCP",
    "rsockets": "rsockets (librspreload)",
    "stream": "Skein, core/stream",
    "service": "the same through skeind",
}
WRITES = (
    ("latency 64", "64 B p50, us"),
    ("latency 4096", "4 KiB p50, us"),
    ("latency 65536", "64 KiB p50, us"),
    ("bandwidth 4096", "4 KiB, MB/s"),
    ("bandwidth 65536", "64 KiB, MB/s"),
    ("bandwidth 1048576", "1 MiB, MB/s"),
)
SERVICE = (
    ("latency 64", "64 B p50, us"),
    ("latency 4096", "4 KiB p50, us"),
    ("latency 65536", "64 KiB p50, us"),
    ("bandwidth 4096", "4 KiB, MB/s"),
    ("bandwidth 65536", "64 KiB, MB/s"),
)
CROWDS = (1, 8)  # processes at each end
STREAMS = (
    ("latency 64", "64 B p50, us"),
    ("latency 4096", "4 KiB p50, us"),
    ("bandwidth 65536", "64 KiB, MB/s"),
)


def cell(figures):
    if "p50_us" in figures:
        return table.cell(figures["p50_us"], "{:,.0f}")
    return table.cell(figures["mb_per_s"], "{:.2f}")


def crowd(tool, figures, figure, kind):
    return [table.cell(figures[f"{tool} crowd {processes}"][figure], kind) for processes in CROWDS]


def crowds(figures):
    """Processes at each end that send at once, each to one of the other end's."""
    columns = [f"{processes} processes" for processes in CROWDS]
    what = (("mb_per_s", "MB/s together", "{:.2f}"), ("queue_pairs", "queue pairs", "{:.0f}"), ("registered_mib", "MiB registered", "{:.1f}"))
    lines = [[f"{TITLES[tool]}: {text}", *crowd(tool, figures, figure, kind)]
             for figure, text, kind in what for tool in ("stream", "service")]  # fmt: skip
    return "\n".join(table.rows(["messages of 4 KiB", *columns], lines))


def part(title, tools, columns, figures):
    lines = [[TITLES[tool], *(cell(figures[f"{tool} {name}"]) for name, _ in columns)] for tool in tools]
    return "\n".join(table.rows([title, *(text for _, text in columns)], lines))


def markdown(results):
    machine, settings, figures = results["machine"], results["settings"], results["figures"]
    processors = settings.get("processors", 2)
    about = (
        f"{results['date'][:10]}, commit {machine['commit']}; two guests, emulated processors of each: {processors}; on {machine['cores']}"
        f" cores of {machine['cpu']} ({machine['virtual']}). {settings['rounds']} rounds; seed {settings['seed']}."
        " Medians (lowest..highest round), and the median of the ratios to the table's first line in the same round."
    )
    if settings["quick"]:
        about += " **Quick run: not figures to quote.**"
    failures = [f"{name} ({values['failures']})" for name, values in figures.items() if values["failures"] > 0]
    if failures:
        about += f" Failed, and done again: {', '.join(failures)}."
    if settings.get("compared") == "service":
        return "\n\n".join((about, part("byte streams", ("stream", "service"), SERVICE, figures), crowds(figures)))
    return "\n\n".join(
        (
            about,
            part("WRITEs", ("perftest", "write"), WRITES, figures),
            part("byte streams", ("tcp", "rsockets", "stream"), STREAMS, figures),
        )
    )


# The marker is older than the command that writes there, ./run bench rdma --docs.
PAGE = Page("performance.md", "<!-- Soft-RoCE figures: written by bench/micro/soft_roce_table.py, do not edit -->", markdown)
