#!/usr/bin/env python3
"""doctor.py [ARGUMENT...]: whether this machine can build Skein; the rest is the skein command's to say, once built.

One line a check, with what to do about it. The arguments are for `skein doctor`. Exit status: 0 nothing failed, 1
something did, 2 the command was called wrongly.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PRESETS = ("dev", "release")


def output_of(*command):
    """What a command prints, or '' when it fails or does not exist."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


# Each check returns (verdict, what was found, what to do).


def compiler():
    version = output_of("g++", "-dumpfullversion")
    if not version:
        return "FAIL", "no g++", "./run setup"
    if int(version.split(".")[0]) < 12:
        return "FAIL", f"g++ {version} is too old for this code", "install g++ 12 or newer"
    return "ok", f"g++ {version}", ""


def packages():
    text = re.sub(r"#.*", "", (ROOT / "scripts/packages.txt").read_text())
    missing = [package for package in text.split()
               if output_of("dpkg-query", "-W", "-f", "${db:Status-Status}", package) != "installed"]
    if missing:
        return "FAIL", f"missing: {' '.join(missing)}", "./run setup"
    return "ok", "all of scripts/packages.txt are installed", ""


def installed_grpc():
    return output_of("dpkg-query", "-W", "-f", "${source:Version}", "libgrpc-dev")


def release_of(version):
    """(1, 51), of "1.51.1-3"; none, of nothing."""
    return tuple(map(int, re.findall(r"\d+", version)[:2]))


def grpc_headers():
    version = installed_grpc()
    if release_of(version) != (1, 51) and release_of(version) < (1, 73):
        return "FAIL", f"libgrpc-dev {version or 'is not installed'}", "Skein has adapters for gRPC 1.51, and for 1.73 and later"
    return "ok", f"libgrpc-dev {version}", ""


def grpc_source():
    version = installed_grpc()
    if release_of(version) >= (1, 73):
        return "ok", "the adapter for this gRPC needs no source of it", ""
    stamp = ROOT / "build/grpc-source/.version"
    found = stamp.read_text().strip() if stamp.exists() else "none"
    if found != version:
        return "warn", f"source of gRPC: {found}, installed: {version}", "./run setup"
    return "ok", f"the source of gRPC matches ({found})", ""


CHECKS = [compiler, packages, grpc_headers, grpc_source]


def say(verdict, found, advice=""):
    # The command's lines follow on the same output.
    print(f"{verdict:5} {found}" + (f"\n      -> {advice}" if advice else ""), flush=True)


def built_command():
    """The newest build of the skein command, or None."""
    builds = [ROOT / "build" / preset / "tools/skein/skein" for preset in PRESETS]
    return max((path for path in builds if path.is_file()), key=lambda path: path.stat().st_mtime, default=None)


def ask_command(arguments):
    """Its exit status."""
    command = built_command()
    if command is not None:
        return subprocess.run([command, "doctor", *arguments], check=False).returncode
    # Whoever asked about a server has no answer.
    say("FAIL" if arguments else "warn", "the skein command, which looks at the rest, is not built", "./run build")
    return 1 if arguments else 0


def main():
    failed = False
    for check in CHECKS:
        verdict, found, advice = check()
        failed = failed or verdict == "FAIL"
        say(verdict, found, advice)
    return ask_command(sys.argv[1:]) or int(failed)


if __name__ == "__main__":
    sys.exit(main())
