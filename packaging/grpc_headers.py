#!/usr/bin/env python3
"""grpc_headers.py SOURCE BUILD: which of gRPC's internal headers Skein is compiled with, as paths in SOURCE, and the licences
that hold for them. BUILD: a configured build folder, which knows how the compiler is called. The compiler says the rest."""

import json
import os
import pathlib
import shlex
import subprocess
import sys

THE_DOOR = "grpc_transport/iomgr/grpc_internal.cc"  # whose header is the one that includes them
LICENCES = ("LICENSE*", "NOTICE*", "COPYING*", "AUTHORS*")


def included(build):
    """What the compiler opens for that file, by its own account."""
    entries = json.loads((build / "compile_commands.json").read_text())
    (entry,) = (entry for entry in entries if entry["file"].endswith("/" + THE_DOOR))
    command = shlex.split(entry["command"])
    del command[command.index("-o") : command.index("-o") + 2]
    rule = subprocess.run([*command, "-M"], cwd=entry["directory"], check=True, capture_output=True, text=True).stdout
    paths = rule.partition(":")[2].replace("\\\n", " ").split()
    return {pathlib.Path(os.path.abspath(pathlib.Path(entry["directory"], path))) for path in paths}


def licences(source, headers):
    """In the folders of the headers, and in those above."""
    folders = {folder for header in headers for folder in header.parents if folder.is_relative_to(source)}
    return {file for folder in folders for pattern in LICENCES for file in folder.glob(pattern) if file.is_file()}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, build = (pathlib.Path(os.path.abspath(argument)) for argument in sys.argv[1:])
    headers = {path for path in included(build) if path.is_relative_to(source)}
    if not headers:
        sys.exit(f"grpc_headers: nothing of {source} is included in {THE_DOOR}")
    for path in sorted(headers | licences(source, headers)):
        print(path.relative_to(source))


if __name__ == "__main__":
    main()
