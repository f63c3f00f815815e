"""Tables in Markdown, and the pages they are written into."""

import argparse
import json
import pathlib
import sys

END = "<!-- end of figures -->"


def cell(figure, form):
    """'14.1 (12.9..19.0), x0.10': the median, the spread over rounds, the median ratio to TCP."""
    spread = f"{form.format(figure['min'])}..{form.format(figure['max'])}"
    return f"**{form.format(figure['median'])}** ({spread}), x{figure['ratio']['median']:.2f}"


def rows(header, lines):
    return ["| " + " | ".join(line) + " |" for line in (header, ["---"] * len(header), *lines)]


def aligned(header, lines):
    """As rows, for a terminal."""
    widths = [max(map(len, column)) for column in zip(header, *lines, strict=True)]
    return ["  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip()
            for line in (header, *lines)]  # fmt: skip


def written_into(page, text, begin):
    before, found, rest = page.partition(begin)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise SystemExit(f"the page lacks its markers: {begin} ... {END}")
    return f"{before}{begin}\n\n{text}\n\n{END}{after}"


def write(doc, markdown_of, begin):
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

