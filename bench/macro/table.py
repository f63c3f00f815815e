"""table.py RESULTS.json [docs/performance.md]: the tables of a run, printed, or written between the page's markers."""

import argparse
import json
import pathlib
import sys

BEGIN = "<!-- figures: written by bench/macro/table.py, do not edit -->"
END = "<!-- end of figures -->"

STEADY_FIGURES = (
    ("unary_p50_us", "64 B p50, us", "{:.1f}"),
    ("unary_p99_us", "64 B p99, us", "{:.1f}"),
    ("calls_per_s", "64 B, 8 callers, calls/s", "{:,.0f}"),
    ("echo_mb_per_s", "1 MiB echo, MB/s", "{:,.0f}"),
)
CASE_TITLES = {
    "tcp": "plain gRPC, TCP",
    "unix": "plain gRPC, UNIX socket",
    "shm": "Skein, shared memory",
    "fallback": "Skein client, plain server",
    "tls tcp": "plain gRPC, TLS",
    "tls shm": "Skein, TLS over shared memory",
    "tls fallback": "Skein client, plain TLS server",
}


def cell(figure, form):
    """'14.1 (12.9..19.0), x0.10': the median, the spread over rounds, the median ratio to TCP."""
    spread = f"{form.format(figure['min'])}..{form.format(figure['max'])}"
    return f"**{form.format(figure['median'])}** ({spread}), x{figure['ratio']['median']:.2f}"


def rows(header, lines):
    return ["| " + " | ".join(line) + " |" for line in (header, ["---"] * len(header), *lines)]


def steady_table(style, figures):
    lines = [
        [CASE_TITLES[case], *(cell(values[key], form) for key, _, form in STEADY_FIGURES)]
        for case, values in figures.items()
    ]
    return rows([f"{style} API", *(title for _, title, _ in STEADY_FIGURES)], lines)


def first_call_table(figures):
    lines = []
    for case, values in figures.items():
        first = values["first_call_us"]
        quartiles = f"{first['first_quartile']:,.0f}..{first['third_quartile']:,.0f}"
        lines.append([CASE_TITLES[case], f"**{first['median']:,.0f}** ({quartiles})", f"x{first['ratio']['median']:.2f}"])
    return rows(["new process, new channel", "first call, us (quartiles)", "to plain"], lines)


def markdown(results):
    machine, settings = results["machine"], results["settings"]
    about = (
        f"{results['date'][:10]}, commit {machine['commit']}, {machine['cores']} cores of {machine['cpu']}"
        f" ({machine['virtual']}), Linux {machine['kernel']}, gRPC {machine['grpc']}. {settings['rounds']} rounds of"
        f" {settings['duration']} a figure, {settings['first_calls']} first calls; seed {settings['seed']}."
        " Medians (lowest..highest round), and the median of the ratios to plain TCP in the same round."
    )
    if settings["quick"]:
        about += " **Quick run: not figures to quote.**"
    parts = [about]
    for style, figures in results["steady"].items():
        parts.append("\n".join(steady_table(style, figures)))
    parts.append("\n".join(first_call_table(results["first_call"])))
    return "\n\n".join(parts)


def written_into(page, text, begin=BEGIN):
    before, found, rest = page.partition(begin)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise SystemExit(f"the page lacks its markers: {begin} ... {END}")
    return f"{before}{begin}\n\n{text}\n\n{END}{after}"


def write(doc, markdown_of, begin=BEGIN):
    """The command: results as a table, to the terminal or into a page."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("page", type=pathlib.Path, nargs="?")
    options = parser.parse_args()
    text = markdown_of(json.loads(options.results.read_text()))
    if options.page is None:
        sys.stdout.write(text + "\n")
    else:
        options.page.write_text(written_into(options.page.read_text(), text, begin))


if __name__ == "__main__":
    write(__doc__, markdown)
