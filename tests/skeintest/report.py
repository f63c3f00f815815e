"""What a run of cases prints: tables, what failed and its last words, the closing line. And what it keeps for matrix.py."""

import collections
import json

# job: has a title(); failure: '' or what is wrong; seconds: how long it took.
Result = collections.namedtuple("Result", "job failure seconds log_path")


def print_table(title, columns, rows):
    """Rows are (name, one text a column)."""
    print(f"\n{title:30}" + "".join(f"{column:>18}" for column in columns))
    for name, cells in rows:
        print(f"{name:30}" + "".join(f"{cell:>18}" for cell in cells))


def print_failures(results):
    for result in results:
        if result.failure:
            print(f"\nFAILED {result.job.title()}: {result.failure}\n  log: {result.log_path}")
            tail = result.log_path.read_text(errors="replace").splitlines()[-15:] if result.log_path.exists() else []
            print("\n".join("  | " + line[:300] for line in tail))


def keep(path, outcomes):
    """`outcomes`: (row, pairing, path of its connections, failure) of each case."""
    cells = {}
    for row, pairing, over, failure in outcomes:
        cell = cells.setdefault(row, {}).setdefault(pairing, {"over": over, "passed": 0, "failed": 0})
        cell["failed" if failure else "passed"] += 1
    path.write_text(json.dumps(cells, indent=1))


def close(results):
    """The closing line; returns the exit status."""
    failed = sum(bool(result.failure) for result in results)
    print(f"\n{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0
