"""What the benchmarks of durable requests in real time do with their figures: cases in shuffled rounds, written as JSON
and as a table of a page."""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "macro"))
import arguments  # noqa: E402
import machine  # noqa: E402
import shuffled  # noqa: E402
import table  # noqa: E402


def parse(doc, out, quick, full):
    """What every benchmark is called with, and --docs=DIR. `quick`, `full`: how long a case takes in a round."""
    docs = [argument for argument in sys.argv if argument.startswith("--docs=")]
    sys.argv = [argument for argument in sys.argv if argument not in docs]
    options = arguments.parse(doc, out)
    options.docs = pathlib.Path(docs[-1].partition("=")[2]) if docs else None
    options.rounds = 2 if options.quick else 11
    options.duration = quick if options.quick else full
    return options


def figures_of(command):
    """What it prints, of JSON."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))}: {done.stderr}")
    return json.loads(done.stdout)


def text(results, head, lines):
    """The table, below what it was measured by."""
    about = results["machine"]
    settings = results["settings"]
    return "\n".join([
        f"{results['date'][:10]}, commit {about['commit']}, {about['cores']} cores of {about['cpu']} ({about['virtual']}), Linux {about['kernel']}; "
        f"load average {results['load']:.1f}. {settings['rounds']} rounds of {settings['duration']} a figure; seed {settings['seed']}.",
        "",
        *table.rows(head, lines),
    ])  # fmt: skip


def make(options, cases, run, summaries, markdown, page, begin):
    """run(case) gives a case's figures, summaries(series) what `markdown` makes its table of, behind `begin` in `page`."""
    series = shuffled.rounds(options, cases, run)
    results = {
        **machine.heading(options, "seed", "rounds", "duration", "quick"),
        "load": os.getloadavg()[1],
        "cases": summaries(series),
    }
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    print(markdown(results))
    if options.docs:
        file = options.docs / page
        file.write_text(table.written_into(file.read_text(), markdown(results), begin))
