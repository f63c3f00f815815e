"""What the kernel says of processes, and what it is told of their limits."""

import json
import os
import pathlib
import resource
import shutil
import socket
import subprocess
import time

import psutil

RDMA_DEVICES = pathlib.Path("/sys/class/infiniband")
RDMA_OBJECTS = {"queue pairs": "qp", "regions": "mr"}


def await_true(condition, seconds, step=0.02):
    """Whether `condition()` came true in time. For what the kernel only tells on asking."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(step)
    return True


# What a process holds.


def descriptors(pid):
    """What each open descriptor of the process is."""
    targets = []
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            targets.append(os.readlink(entry))
        except FileNotFoundError:
            pass  # closed since it was listed
    return targets


def mappings(pid):
    return pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()


def held(pid):
    """How many descriptors the process has, memfds among them, mappings of shared memory, and threads; and what all
    processes have of RDMA devices, where there are any: the kernel only knows which thread made it, and threads end."""
    targets = descriptors(pid)
    holdings = {
        "descriptors": len(targets),
        "memfds": sum("memfd:" in target for target in targets),
        "mappings": sum("memfd:" in line for line in mappings(pid)),
        "threads": psutil.Process(pid).num_threads(),
    }
    if shutil.which("rdma") and RDMA_DEVICES.exists() and any(RDMA_DEVICES.iterdir()):
        shown = subprocess.run(["rdma", "-j", "resource", "show"], check=True, capture_output=True, text=True).stdout
        holdings.update({what: sum(device[kind] for device in json.loads(shown)) for what, kind in RDMA_OBJECTS.items()})
    return holdings


def resident_bytes(pid):
    return psutil.Process(pid).memory_info().rss


def sockets(pid):
    """A line on each of the process's sockets: kind, state and addresses."""
    return [
        f"{of.family.name} {of.type.name} {of.status} {of.raddr or '-'} {of.laddr}"
        for of in psutil.Process(pid).connections("all")
    ]


# What it does.


def threads(pid):
    """(name, task id, the fields of its stat from its state on) of each thread."""
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
        try:
            name, fields = (task / "stat").read_text().split("(", 1)[1].rsplit(") ", 1)
        except (FileNotFoundError, ProcessLookupError):
            continue  # ended since it was listed
        yield name, task.name, fields.split()


def waits(pid):
    """What each thread is called, whether it runs, and where in the kernel it waits."""
    told = []
    for name, task, fields in threads(pid):
        try:
            told.append(f"{name} {fields[0]} {pathlib.Path(f'/proc/{pid}/task/{task}/wchan').read_text()}")
        except OSError:
            pass  # it has ended, or may not be looked at
    return ", ".join(sorted(told)) or "it has ended"


def is_stopped(pid):
    """By SIGSTOP: each of its threads."""
    return all(fields[0] in "TZ" for _, _, fields in threads(pid))


def cpu_ticks(pid):
    """User and system time so far, in clock ticks."""
    times = psutil.Process(pid).cpu_times()
    return round((times.user + times.system) * os.sysconf("SC_CLK_TCK"))


def cpu_ticks_within(pid, seconds):
    """What the whole process uses of the next `seconds`, threads that end meanwhile included."""
    before = cpu_ticks(pid)
    time.sleep(seconds)  # the measurement itself
    return cpu_ticks(pid) - before


def thread_ticks_within(pid, seconds):
    """The same by thread, of those that used any."""

    def ticks():
        return {f"{task} {name}": int(fields[11]) + int(fields[12]) for name, task, fields in threads(pid)}

    before = ticks()
    time.sleep(seconds)
    used = {thread: now - before.get(thread, 0) for thread, now in ticks().items()}
    return {thread: count for thread, count in used.items() if count > 0}


# What it may have.


def squeeze_descriptors(pid, spare):
    """Leaves the running process `spare` more, gaps among its present ones included."""
    used = {int(fd) for fd in os.listdir(f"/proc/{pid}/fd")}
    limit, free = 0, 0
    while free < spare or limit in used:
        free += limit not in used
        limit += 1
    _set_descriptor_limit(pid, limit)


def release_descriptors(pid):
    """As many as it may have."""
    _set_descriptor_limit(pid, 1 << 20)


def _set_descriptor_limit(pid, limit):
    _, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(limit, most), most))


# Ports.


def free_ports(count):
    """Ports that nobody listens on; all held until all are known, so that they differ."""
    held_ports = [socket.socket() for _ in range(count)]
    try:
        for each in held_ports:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in held_ports]
    finally:
        for each in held_ports:
            each.close()


def listening_port(pid):
    """The TCP port that the process listens on, or None."""
    found = psutil.Process(pid).connections("tcp")
    return next((of.laddr.port for of in found if of.status == psutil.CONN_LISTEN), None)


def accepts(address, seconds):
    """Whether who listens on host:port takes a connection within so many seconds; the kernel makes them by itself."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port))):
        return await_true(lambda: not any(of == int(port) and waiting for of, waiting in _listeners()), seconds)


def _listeners():
    """(port, connections that wait to be accepted) of each socket that listens on TCP."""
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()  # index, local address:port, remote address:port, state, queues tx:rx, ...
            if fields[3] == "0A":
                yield int(fields[1].rsplit(":", 1)[1], 16), int(fields[4].split(":")[1], 16)


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True
