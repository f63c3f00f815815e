"""What the benchmarks are called with, all of them."""

import argparse
import pathlib
import random


def parse(doc, out, quick="few, short rounds: does it run, not what are the figures", more=()):
    """`out`: the name of the JSON file beside the build directory, unless another is asked for. `more`: options of
    one's own, as (name, what add_argument takes)."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a build directory with the benchmarks")
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--out", type=pathlib.Path, help=f"JSON file (default: {out} beside the build directory)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="of the order in each round")
    for name, what in more:
        parser.add_argument(name, **what)
    options = parser.parse_args()
    options.out = options.out or options.build.resolve().parent / out
    return options
