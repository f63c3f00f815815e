"""Where and of what the figures are."""

import os
import pathlib
import platform
import subprocess


def _first(path, prefix):
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith(prefix):
            return line.split(":", 1)[1].strip()
    return "unknown"


def _output(*command, cwd=None):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=cwd).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def commit_of(folder):
    """The commit of the sources in that folder."""
    return _output("git", "describe", "--always", "--dirty", cwd=folder)


def describe():
    return {
        "cpu": _first("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (1 << 30)),
        "kernel": platform.release().split("-")[0],
        "virtual": _output("systemd-detect-virt"),
        "grpc": _output("pkg-config", "--modversion", "grpc++"),
        # A chroot may have neither git nor the repository.
        "commit": os.environ.get("BENCH_COMMIT") or commit_of(pathlib.Path(__file__).parent),
    }
