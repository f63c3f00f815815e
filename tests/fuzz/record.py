"""What each target has executed, all recorded runs together: record.json, and the page that shows it."""

import contextlib
import fcntl
import json
import pathlib

FILE = pathlib.Path(__file__).with_name("record.json")
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/reliability/fuzzing.md"
FIGURES = ("executions", "processor_seconds", "edges", "crashes")
ENOUGH_EXECUTIONS = 10**8
ENOUGH_SECONDS = 3600

HEAD = """# What has been fuzzed

Written by `tests/fuzz/run_fuzz.py --record`, which adds each of its runs.
[The targets](../../tests/fuzz/README.md) have AddressSanitizer and UndefinedBehaviorSanitizer;
wanted of each is an hour of a processor, or 10^8 executions. The crashes are
[mended](../reliability.md#fuzzing).

"""


@contextlib.contextmanager
def _locked():
    """No other run adds to the record meanwhile."""
    with FILE.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        yield file


def enough(entry):
    return entry["executions"] >= ENOUGH_EXECUTIONS or entry["processor_seconds"] >= ENOUGH_SECONDS


def line(name, entry):
    cells = (name, f"{entry['executions'] / 1e6:,.1f}", f"{entry['processor_seconds'] / 60:.0f}", f"{entry['edges']:,}",
             entry["crashes"], "yes" if enough(entry) else "not yet")  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |\n"


def page(targets):
    def total(key):
        return sum(entry[key] for entry in targets.values())

    text = HEAD + (
        f"{sum(map(enough, targets.values()))} of {len(targets)} have it. Together: "
        f"{total('executions') / 1e6:,.0f} million executions in {total('processor_seconds') / 3600:.1f} hours of a "
        f"processor, {total('crashes')} crashes.\n\n"
        "| target | million executions | minutes of a processor | edges | crashes | enough |\n"
        "|---|---|---|---|---|---|\n"
    )
    return text + "".join(line(name, entry) for name, entry in targets.items())


def entries(text=None):
    """Of each target that there is, its figures; `text`: of the file, where it is open already."""
    recorded = json.loads((FILE.read_text(encoding="utf-8") if text is None else text) or "{}")
    names = sorted(folder.name for folder in FILE.with_name("corpus").iterdir() if any(folder.iterdir()))
    return {name: recorded.get(name, dict.fromkeys(FIGURES, 0)) for name in names}


def add(result):
    """Adds a run (libfuzzer.Result) to what is on record."""
    with _locked() as file:
        all_entries = entries(file.read())
        entry = all_entries[result.target.name]
        entry["executions"] += result.executions
        entry["processor_seconds"] += round(result.processor_seconds)
        entry["edges"] = max(entry["edges"], result.edges)
        entry["crashes"] += len(result.crashes)
        file.truncate(0)
        json.dump(all_entries, file, indent=1)
        file.write("\n")
        PAGE.write_text(page(all_entries), encoding="utf-8")
