#!/usr/bin/env python3
"""Says what this machine can do for Skein: one line a check, with what to do about it. Exit status 1 if one fails."""

import os
import pathlib
import re
import resource
import subprocess
import sys

import kernel_probes

ROOT = pathlib.Path(__file__).resolve().parents[1]
SUPPORTED_GRPC = "1.51.1"
KNOWN_ENGINES = ("", "all", "epoll1")
MODES = ("off", "prefer", "require")


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
        return "fail", "no g++", "./run setup"
    if int(version.split(".")[0]) < 12:
        return "fail", f"g++ {version} is too old for this code", "install g++ 12 or newer"
    return "ok", f"g++ {version}", ""


def packages():
    text = re.sub(r"#.*", "", (ROOT / "scripts/packages.txt").read_text())
    missing = [package for package in text.split()
               if output_of("dpkg-query", "-W", "-f", "${db:Status-Status}", package) != "installed"]
    if missing:
        return "fail", f"missing: {' '.join(missing)}", "./run setup"
    return "ok", "all of scripts/packages.txt are installed", ""


def grpc_library():
    version = output_of("dpkg-query", "-W", "-f", "${source:Version}", "libgrpc-dev")
    if not version.startswith(SUPPORTED_GRPC):
        return "fail", f"libgrpc {version or 'is not installed'}", f"Skein plugs into gRPC {SUPPORTED_GRPC} alone"
    return "ok", f"libgrpc {version}", ""


def grpc_source():
    version = output_of("dpkg-query", "-W", "-f", "${source:Version}", "libgrpc-dev")
    stamp = ROOT / "build/grpc-source/.version"
    found = stamp.read_text().strip() if stamp.exists() else "none"
    if found != version:
        return "warn", f"source of gRPC: {found}, installed: {version}", "./run setup"
    return "ok", f"the source of gRPC matches ({found})", ""


def memfd_sealing():
    error = kernel_probes.memfd_sealing()
    if error:
        return "fail", f"no sealed memfds: {error}", "shared memory needs Linux 3.17 or newer and no seccomp rule against it"
    return "ok", "memfds can be sealed", ""


def unix_sockets():
    error = kernel_probes.pass_descriptor()
    if error:
        return "fail", f"no descriptor can be passed over a UNIX socket: {error}", "allow AF_UNIX sockets in the sandbox"
    return "ok", "descriptors pass over UNIX sockets", ""


def ptrace_policy():
    error = kernel_probes.read_sibling_memory()
    if error:
        return ("warn", f"a process cannot read another's memory ({error})",
                "nothing: reads go through the shared pool; kernel.yama.ptrace_scope=0 would allow process_vm_readv")
    return "ok", "process_vm_readv works between processes of one user", ""


def open_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 4096:
        return "warn", f"{soft} open files (hard limit {hard})", "ulimit -n 65536 for many connections"
    return "ok", f"{soft} open files", ""


def locked_memory():
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if soft != resource.RLIM_INFINITY and soft < 64 << 20:
        return "warn", f"{soft >> 10} KiB of locked memory", "only for RDMA: ulimit -l unlimited; shared memory needs none"
    return "ok", "enough locked memory", ""


def processors():
    count = len(os.sched_getaffinity(0))
    if count < 2:
        return "warn", "one processor", "two processes cannot run at once here: waiting sleeps instead of spinning"
    return "ok", f"{count} processors", ""


def rdma_devices():
    folder = pathlib.Path("/sys/class/infiniband")
    devices = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    return "ok", f"RDMA devices: {' '.join(devices) or 'none; connections between hosts use TCP'}", ""


def polling_engine():
    engine = os.environ.get("GRPC_POLL_STRATEGY", "")
    if engine not in KNOWN_ENGINES:
        return "warn", f"GRPC_POLL_STRATEGY={engine}", "unset it: Skein keeps to TCP under any engine but epoll1"
    return "ok", f"GRPC_POLL_STRATEGY is {engine or 'unset'}", ""


def mode():
    value = os.environ.get("SKEIN_GRPC")
    if value is not None and value not in MODES:
        return "fail", f"SKEIN_GRPC={value}", f"set it to one of: {', '.join(MODES)}"
    return "ok", f"SKEIN_GRPC is {value or 'unset'}", ""


CHECKS = [compiler, packages, grpc_library, grpc_source, memfd_sealing, unix_sockets, ptrace_policy, open_files,
          locked_memory, processors, rdma_devices, polling_engine, mode]  # fmt: skip


def main():
    failed = False
    for check in CHECKS:
        verdict, found, advice = check()
        failed = failed or verdict == "fail"
        print(f"{verdict:5} {found}" + (f"\n      -> {advice}" if advice else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
