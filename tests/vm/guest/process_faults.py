"""process_faults.py BUILD [OPTION of tests/system/faults/faults.py...]: its faults over RDMA, in one guest; and others, which need
a machine of their own: memory that ends, memory that may not be locked, a clock that is set."""

import pathlib
import signal
import sys

import clock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/system/faults"), str(ROOT / "tests")]

import durable_faults  # noqa: E402
import faults  # noqa: E402
from skeintest import guests  # noqa: E402
from skeintest.kernel import await_true  # noqa: E402

# What an emulated processor can do.
SLOW = ["--host", guests.ADDRESS, "--deadline", "10", "--recovery", "20", *guests.SLOW]

NOBODY = 65534
LITTLE_TO_LOCK = {"prefix": ["prlimit", "--memlock=65536:65536", "--",
                             "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]}  # fmt: skip
LITTLE_TO_REGISTER = {"settings": {**guests.SETTINGS, "SKEIN_RDMA_MEMORY": str(1 << 20)}}


def over_tcp_because(how, reason):
    """A fault: a server, then a client, that may not have the memory which RDMA takes. Its calls go over TCP, and say why;
    its neighbours' do not."""

    def fault(scene, row):
        row.path = ""
        limited, server = scene.server(mode="prefer", **how), scene.server(mode="prefer")
        addresses = limited.address(), server.address()
        beside = scene.client(addresses[1])
        faults.await_neighbour(beside, row)
        scene.remember(limited, server, beside)
        for client in (scene.client(addresses[0], mode="prefer"), scene.client(addresses[1], mode="prefer", **how)):
            row.recoveries.append(faults.await_calls(client, row))
            row.neighbours.add(beside.report()[0])
            row.times += 1
            client.kill()
        silent = [path for path in row.calls.paths if reason not in path]
        if silent:
            row.problems.append(f"'{reason}' is not what was said: {silent}")
        if row.calls.over_other_than("tcp") or row.neighbours.over_other_than("rdma"):
            row.problems.append(f"calls went over {row.calls.paths}, neighbours' over {row.neighbours.paths}")

    return fault


class Group:
    """A cgroup whose processes may have memory until it is exhausted."""

    ROOT = pathlib.Path("/sys/fs/cgroup")

    def __init__(self):
        if not (self.ROOT / "cgroup.procs").exists():
            guests.shell("mount -t cgroup2 none /sys/fs/cgroup")
        (self.ROOT / "cgroup.subtree_control").write_text("+memory")
        self.folder = self.ROOT / "victim"
        self.folder.mkdir(exist_ok=True)
        # Started within, for memory stays with the group that it was taken in.
        self.prefix = ["sh", "-c", f'echo $$ > {self.folder}/cgroup.procs && exec "$@"', "sh"]

    def allow(self, most):
        (self.folder / "memory.max").write_text(str(most))

    def anonymous(self):
        """Bytes. (There is no swap.)"""
        fields = dict(line.split() for line in (self.folder / "memory.stat").read_text().splitlines())
        return int(fields["anon"])

    def exhaust(self, program):
        """Takes away half of what they have; that ends the process. (Half of all would not always: files' pages, which
        count, are taken back.)"""
        self.allow(self.anonymous() // 2)
        if not await_true(program.ended, 20) or program.status != -signal.SIGKILL:
            raise RuntimeError(f"the process ended with {program.status}")
        program.kill()
        self.allow("max")


def server_out_of_memory(scene, row):
    """The kernel kills a server, whose memory is at its end."""
    row.allowed = scene.gone
    group = Group()
    victim, other = scene.server(prefix=group.prefix), scene.server()
    addresses = victim.address(), other.address()
    client = scene.client(*addresses)
    faults.await_calls(client, row)
    scene.remember(client, other)
    while row.times < scene.options.times:
        scene.pause()
        group.exhaust(victim)
        row.times += 1
        victim = scene.server(addresses[0], prefix=group.prefix)
        victim.address()
        row.recoveries.append(faults.await_calls(client, row))


def client_out_of_memory(scene, row):
    """The same of a client."""
    group = Group()
    server = scene.server()
    address = server.address()
    beside = scene.client(address)
    faults.await_neighbour(beside, row)
    scene.remember(server, beside)
    while row.times < scene.options.times:
        victim = scene.client(address, prefix=group.prefix)
        row.recoveries.append(faults.await_calls(victim, row))
        scene.pause()
        group.exhaust(victim)
        row.times += 1
        row.neighbours.add(beside.report()[0])


def churn_far(scene, row):
    """Connections that come and go, and take 5 ms to be made. gRPC 1.51 then uses some before they are (a stale event of its
    epoll1 engine: core/connect/route.h), whose peers Skein must know: when it did not, one of 400 had no RDMA."""
    guests.shell("tc qdisc add dev lo root netem delay 5ms")
    try:
        faults.churn(scene, row)
    finally:
        guests.shell("tc qdisc del dev lo root")


def clock_set(scene, row):
    """The clock is set forwards and back, by seconds and by hours. (Neighbours have the same clock.)"""
    server, other = scene.server(), scene.server()
    client = scene.client(server.address(), other.address())
    faults.await_calls(client, row)
    scene.remember(server, other, client)
    with clock.a_clock_to_set() as set_off:
        while row.times < scene.options.times:
            scene.pause()
            set_off(clock.some_way(scene.chance))
            row.times += 1
            row.recoveries.append(faults.await_calls(client, row))


FAULTS = {
    **faults.FAULTS,
    "no-memory-to-lock": over_tcp_because(LITTLE_TO_LOCK, "RLIMIT_MEMLOCK"),
    "no-memory-to-register": over_tcp_because(LITTLE_TO_REGISTER, "rdma_memory"),
    "server-out-of-memory": server_out_of_memory,
    "client-out-of-memory": client_out_of_memory,
    "clock-set": clock_set,
    "churn-far": churn_far,
    **durable_faults.FAULTS,
}


def main():
    build, *arguments = sys.argv[1:]
    options = faults.parse_arguments(FAULTS, ["--build", build, *SLOW, *arguments])
    options.path = options.path or ["rdma"]
    options.settings = {**guests.SETTINGS, **options.settings}
    before = guests.rdma_objects()
    print(f"--seed={options.seed}", flush=True)
    return guests.verdict(faults.run_all(options, FAULTS), before)


if __name__ == "__main__":
    sys.exit(main())
