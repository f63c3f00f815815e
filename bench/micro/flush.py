"""./run bench flush: FLUSH behind a WRITE, beside the READ that stands in for it.

Question: how much sooner does a sender know that its WRITE is where it is to be? On this host's RDMA device, if it has
FLUSH; else in a guest of tests/vm whose Soft-RoCE has it, with an emulated NVDIMM: there only ratios mean anything. Ways
take turns in shuffled order, and ratios are taken within a round."""

import json

from harness import arguments, guests, program, record, table
from harness.page import Page

SIZES = (64, 1024, 4096)
NO_DEVICE = 77
SECONDS = 1200  # limit in a guest: an emulated processor's boot, and its rounds
# Debian 13's kernel and library have FLUSH. One processor, as in tests/vm's flush.
GUEST = ("-r", "trixie", "-p", "130", "-c", "1")


def here(options):
    """A line of JSON for each way; None: there is no device with FLUSH."""
    lines = []
    for size in SIZES:
        flags = [f"--bytes={size}", f"--rounds={options.rounds}", f"--seed={options.seed}"]
        told = program.output([options.build / "bench/micro/bench_flush", *flags], absent=NO_DEVICE)
        if told is None:
            return None
        lines += told.splitlines()
    return lines


def in_guest(options):
    sizes = ",".join(map(str, SIZES))
    return guests.one("bench_flush", [str(options.build), sizes, str(options.rounds), str(options.seed)], SECONDS, GUEST)


def markdown(results):
    lines = [
        [f"{way['bytes']} B, {way['way']}", f"**{way['us']:.1f}** ({way['us_quartiles'][0]:.1f}..{way['us_quartiles'][1]:.1f})",
         f"**x{way['of_read']:.2f}** ({way['of_read_quartiles'][0]:.2f}..{way['of_read_quartiles'][1]:.2f})"]
        for way in results["ways"]
    ]  # fmt: skip
    machine = results["machine"]
    about = f"{results['date'][:10]}, commit {machine['commit']}, {machine['cpu']}; {results['settings']['rounds']} rounds."
    return "\n".join([about, "", *table.rows([f"us, {results['where']}", "median (quartiles)", "to the READ's"], lines)])


PAGE = Page("durable-performance.md", "<!-- figures of FLUSH: written by bench/micro/flush.py --docs, do not edit -->", markdown)


def measure(options):
    lines, where = here(options), "this host's device"
    if lines is None:
        lines, where = in_guest(options), "Soft-RoCE in a guest"
    return {**record.heading(options, "seed", "rounds", "quick"), "where": where, "ways": [json.loads(line) for line in lines]}


if __name__ == "__main__":
    options = arguments.parse(__doc__, "flush", page=PAGE.name, quick="ten rounds: does it run, not what are the figures")
    options.rounds = 10 if options.quick else 1000
    record.tell(options, lambda: measure(options), markdown, PAGE)
