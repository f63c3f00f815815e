#!/usr/bin/env python3
"""tidy.py [--quick] BUILD [FOLDER ...]: clang-tidy over the own sources of a build folder, all or those in these folders. A
file is only checked again when it or what it includes changed. --quick: without the static analyzer, and several files as one
where they can be, so that what they all include is read once: a tenth of the time."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
AT_ONCE = 8
ALONE = {ROOT / "tools/skein"}  # files that use the same names
INCLUDED = re.compile(r'#include "(.+)"')
# Whose annotations of locks clang checks. It cannot follow the one lock of a whole simulation.
ANNOTATED = [ROOT / name for name in ("core", "grpc_transport", "thrift_transport", "tools")]
NOT_ANNOTATED = ROOT / "core/fabric/sim"
CHECK_LOCKS = "-Wthread-safety"  # clang's alone
FOLDERS = ("core", "grpc_transport", "thrift_transport", "tests", "interop", "examples", "bench", "tools")


def plain(command):
    """The compiler's own command, without ccache and without precompiled headers: those are GCC's, which clang cannot read,
    and hide it when a source does not include what it uses."""
    words = shlex.split(command)
    words = words[next(at for at, word in enumerate(words) if pathlib.Path(word).name == "c++"):]
    while "-include" in words and words[words.index("-include") + 1].endswith("cmake_pch.hxx"):
        at = words.index("-include")
        del words[at:at + 2]
    return [word for word in words if word not in ("-Winvalid-pch", "-fpch-preprocess")]


def compiled(build):
    """(source, compile command, its folder) of each source, with those that CMake compiles several as one."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        whole = pathlib.Path(entry["file"])
        if whole.parent.name == "Unity" and whole.is_relative_to(build):
            members = [pathlib.Path(member) for member in INCLUDED.findall(whole.read_text())]
        else:
            members = [whole]
        for source in members:
            yield source, [str(source) if word == str(whole) else word for word in plain(entry["command"])], entry["directory"]


def own_commands(build, folders):
    """Of those each own source, in the first target that has it; generated code and gRPC's are not ours to check."""
    seen = set()
    for source, command, directory in compiled(build):
        if source not in seen and any(source.is_relative_to(ROOT / folder) for folder in folders):
            seen.add(source)
            annotated = any(map(source.is_relative_to, ANNOTATED)) and not source.is_relative_to(NOT_ANNOTATED)
            yield source, [*command, *[CHECK_LOCKS] * annotated], directory


def together(commands, folder):
    """The same, with up to so many files of one target as one that includes them, in the folder."""
    groups = {}
    for source, command, directory in commands:
        flags = [word for word in command if word not in (str(source), command[command.index("-o") + 1])]
        groups.setdefault((source.parent, tuple(flags), directory), []).append((source, command))
    for (_, _, directory), members in groups.items():
        size = 1 if members[0][0].parent in ALONE else AT_ONCE
        for first in range(0, len(members), size):
            some = members[first:first + size]
            source, command = some[0]
            whole = folder / ("_".join(source.relative_to(ROOT).with_suffix("").parts) + f"_and_{len(some) - 1}.cc")
            whole.write_text("".join(f'#include "{member}"\n' for member, _ in some))
            yield whole, [str(whole) if word == str(source) else word for word in command], directory


def fingerprint(command, directory, checks):
    """A hash of all that decides the verdict: the preprocessed source, the flags, the checks, the tool."""
    output = command.index("-o")
    preprocess = [word for word in command[:output] + command[output + 2:] if word != CHECK_LOCKS] + ["-E", "-o", "-"]
    text = subprocess.run(preprocess, cwd=directory, stdout=subprocess.PIPE, check=True).stdout
    digest = hashlib.sha256(text)
    for part in (" ".join(command).encode(), (ROOT / ".clang-tidy").read_bytes(), TOOL_VERSION, " ".join(checks).encode()):
        digest.update(part)
    return digest.hexdigest()


def check(source, command, directory, passed, checks):
    """Returns what clang-tidy has to say, or '' when it is content."""
    mark = passed / fingerprint(command, directory, checks)
    if mark.exists():
        return ""
    tidy = subprocess.run(["clang-tidy", "-p", str(passed), "--quiet", *checks, str(source)], capture_output=True,
                          text=True, check=False)
    if tidy.returncode == 0:
        mark.touch()
        return ""
    return tidy.stdout + tidy.stderr


TOOL_VERSION = subprocess.run(["clang-tidy", "--version"], stdout=subprocess.PIPE, check=True).stdout


def main():
    arguments = sys.argv[1:]
    checks = []
    quick = arguments[0] == "--quick"
    if quick:
        arguments.pop(0)
        # Each .cc is an included file here; checks that judge these in another way are left out.
        checks = ["--checks=" + ",".join(f"-{check}" for check in (
                      "clang-analyzer-*", "misc-unused-using-decls", "bugprone-suspicious-include",
                      "bugprone-exception-escape", "performance-unnecessary-value-param")),
                  "--header-filter=/(core|grpc_transport|thrift_transport|tools)/.*"]  # fmt: skip
    build = pathlib.Path(arguments[0]).resolve()
    passed = build / "clang-tidy-passed"
    passed.mkdir(exist_ok=True)
    commands = list(own_commands(build, arguments[1:] or FOLDERS))
    if quick:
        commands = list(together(commands, passed))
    (passed / "compile_commands.json").write_text(json.dumps(
        [{"file": str(source), "arguments": command, "directory": directory} for source, command, directory in commands]))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as workers:
        for said in workers.map(lambda c: check(*c, passed, checks), commands):
            if said:
                failed += 1
                print(said)
    print(f"clang-tidy: {len(commands) - failed} passed, {failed} failed")
    return 1 if failed or not commands else 0


if __name__ == "__main__":
    sys.exit(main())
