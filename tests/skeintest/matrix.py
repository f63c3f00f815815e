#!/usr/bin/python3
"""matrix.py FILE...: who speaks with whom, and over what, in one table: of the cells that runs of cases have kept."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from skeintest import report  # noqa: E402

# Client first. In the last, both have Skein and nothing to use it over.
PAIRINGS = ("stock/stock", "skein/stock", "stock/skein", "skein/skein", "skein/skein, tcp")


def text(cell):
    if cell is None:
        return "-"
    return f"{cell['failed']} FAILED" if cell["failed"] else f"{cell['passed']} over {cell['over']}"


def main(paths):
    missing = [path for path in paths if not pathlib.Path(path).exists()]
    for path in missing:
        print(f"FAILED: there is no {path}: that run did not come so far")
    rows = [row for path in paths if path not in missing for row in json.loads(pathlib.Path(path).read_text()).items()]
    report.print_table("who speaks with whom", PAIRINGS, [(row, [text(cells.get(p)) for p in PAIRINGS]) for row, cells in rows])
    return bool(missing) or any(cell["failed"] for _, cells in rows for cell in cells.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
