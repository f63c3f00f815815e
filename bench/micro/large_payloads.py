"""./run bench large: large payloads pulled, and through the ring.

From which size on is it worth letting the peer pull a payload? What does a message take either way, and what does a small
one that comes right behind it? Simulated time: every run gives the same."""

import json

from harness import arguments, program, record, table
from harness.page import Page


def figures(options):
    """Figures by size, figure and way."""
    found = {}
    for line in map(json.loads, program.output([options.build / "bench/micro/large_payloads"]).splitlines()):
        for figure in ("us", "small_us"):
            found.setdefault(line["bytes"], {}).setdefault(figure, {})[line["way"]] = line[figure]
    return found


def markdown(results):
    def ratio(of):
        return f"**x{of['pull'] / of['ring']:.2f}**"

    lines = [[f"{int(size) >> 10} KiB", ratio(of["us"]), ratio(of["small_us"])] for size, of in results["sim"].items()]
    return "\n".join(table.rows(["bytes", "until all are read", "p99 of small ones"], lines))


PAGE = Page("performance.md", "<!-- large payloads: written by bench/micro/large_payloads.py --docs, do not edit -->", markdown)

if __name__ == "__main__":
    options = arguments.parse(__doc__, "large", page=PAGE.name)
    record.tell(options, lambda: {**record.heading(options, "quick"), "sim": figures(options)}, markdown, PAGE)
