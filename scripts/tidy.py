#!/usr/bin/env python3
"""tidy.py BUILD [FOLDER ...]: clang-tidy over the own sources of a build folder, all or those in these folders. A file is
only checked again when it or what it includes changed."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ("core", "grpc_transport", "thrift_transport", "tests", "examples", "bench", "tools")


def own_commands(build, folders):
    """(source, compile command) of each own source; generated code and gRPC's are not ours to check."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        if source.is_relative_to(ROOT) and source.relative_to(ROOT).parts[0] in folders:
            yield source, shlex.split(entry["command"]), entry["directory"]


def fingerprint(command, directory):
    """A hash of all that decides the verdict: the preprocessed source, the flags, the checks, the tool."""
    if "ccache" in pathlib.Path(command[0]).name:
        command = command[1:]
    output = command.index("-o")
    preprocess = command[:output] + command[output + 2:] + ["-E", "-o", "-"]
    text = subprocess.run(preprocess, cwd=directory, stdout=subprocess.PIPE, check=True).stdout
    digest = hashlib.sha256(text)
    for part in (" ".join(command).encode(), (ROOT / ".clang-tidy").read_bytes(), TOOL_VERSION):
        digest.update(part)
    return digest.hexdigest()


def check(source, command, directory, build, passed):
    """Returns what clang-tidy has to say, or '' when it is content."""
    mark = passed / fingerprint(command, directory)
    if mark.exists():
        return ""
    tidy = subprocess.run(["clang-tidy", "-p", str(build), "--quiet", str(source)], capture_output=True, text=True,
                          check=False)
    if tidy.returncode == 0:
        mark.touch()
        return ""
    return tidy.stdout + tidy.stderr


TOOL_VERSION = subprocess.run(["clang-tidy", "--version"], stdout=subprocess.PIPE, check=True).stdout


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    passed = build / "clang-tidy-passed"
    passed.mkdir(exist_ok=True)
    commands = list(own_commands(build, sys.argv[2:] or FOLDERS))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as workers:
        for said in workers.map(lambda c: check(*c, build, passed), commands):
            if said:
                failed += 1
                print(said)
    print(f"clang-tidy: {len(commands) - failed} passed, {failed} failed")
    return 1 if failed or not commands else 0


if __name__ == "__main__":
    sys.exit(main())
