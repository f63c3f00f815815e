"""What the benchmarks are called with, all of them."""

import argparse
import pathlib
import random
import sys


def earlier_build(text):
    folder = pathlib.Path(text)
    if not (folder / "bench").is_dir():
        raise argparse.ArgumentTypeError(f"{text} is no build with the benchmarks: there is no {folder / 'bench'}")
    return folder.resolve()


BEFORE = ("--before", {"type": earlier_build, "metavar": "DIR", "help": "the release build of an earlier commit, in its tree"})


def parse(doc, *names, page="", quick="few, short rounds: does it run, not what are the figures", seed=None, more=(), wrong=lambda options: ""):
    """`names`: as bench/run.sh has them; one of several is the first argument. `page`: of docs/, if one has the results.
    `quick`: what --quick does; None: there is no such option. `seed`: the default; None: drawn by lot. `more`: options of
    one's own, as (name, what add_argument takes). `wrong`: says which options contradict each other, or ''."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("./run bench", description=doc, formatter_class=layout, allow_abbrev=False)
    if len(names) > 1:
        parser.add_argument("name", choices=names)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a build directory with the benchmarks")
    parser.add_argument("--out", type=pathlib.Path, help="JSON file (default: bench_NAME.json beside the build directory)")
    parser.add_argument("--results", type=pathlib.Path, metavar="FILE", help="tell what an earlier run left there, measure nothing")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32) if seed is None else seed, help="of all chance")
    parser.add_argument("--check", action="store_true", help="look at these options, and do nothing")
    if quick:
        parser.add_argument("--quick", action="store_true", help=quick)
    if page:
        parser.add_argument("--docs", type=pathlib.Path, metavar="DIR", help=f"write tables and plots into {page} there")
    for name, what in more:
        parser.add_argument(name, **what)
    parser.set_defaults(name=names[0], docs=None)
    options = parser.parse_args()
    if what := wrong(options):
        parser.error(what)
    if options.check:
        sys.exit()
    options.build = options.build.resolve()
    options.out = options.out or options.build.parent / f"bench_{options.name.replace('-', '_')}.json"
    return options
