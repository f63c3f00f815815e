"""faults.py --build DIR [--times N] [--framework NAME] [--path NAME] [--fault NAME] [--seed N]: processes are killed and
stopped at random moments, under load, while their neighbours go on; they fork, have no descriptors, connect all the time.

Three processes of each kind: a server that things happen to, another server, and a client that calls both; where it is the
client that things happen to, a neighbour of its own calls the same server. Each fault is one row of the table at the end.
What must hold in each:

  - calls end as they may: while a server is gone with UNAVAILABLE, or a Thrift exception of the transport; at their deadline
    if somebody is stopped; else well. Never later than 2 s after their deadline (and what the machine stood still for), and
    none is still under way then;
  - every byte that comes is the right one, and has come over the path that was asked for;
  - 5 s after the fault is over calls succeed again, over the same path;
  - calls to and of neighbours succeed all the time;
  - a process that survives holds as many descriptors, mappings and queue pairs in the end as at the beginning, and ends
    when asked."""

import argparse
import pathlib
import random
import resource
import subprocess
import sys
import time

# rows puts the shared helpers on the path.
from rows import Row, await_calls, await_neighbour, check_holdings, excuse, judge, settled

from skeintest import kernel, loads
from skeintest.child import Silence
from skeintest.kernel import accepts

ENOUGH_TO_REFUSE = 20  # times that descriptors run short, until somebody must have lacked one
SLACK_OF_CHURN = 20  # what connections of the moment hold, where they come and go all the time

# What a connection and its link hold in a client. This gRPC leaks one, over any transport, whose channel is closed between the
# end of its handshake and the server's SETTINGS; callers here close theirs after a call that failed, and a guest takes its time.
LEAKED_BY_GRPC = 4


class Scene:
    """The processes of one row."""

    def __init__(self, options, framework, path, chance):
        self.options, self.framework, self.path, self.chance = options, framework, path, chance
        self.programs = []
        self.held = {}  # by programs that live through it all

    def server(self, address=None, path=None, **how):
        address = address or f"{self.options.host}:0"
        how = {"settings": self.options.settings, **how}
        server = loads.Server(self.options.build, self.framework, path or self.path, address, **how)
        self.programs.append(server)
        return server

    def client(self, *addresses, path=None, flags=(), **how):
        flags = ["--threads=2", f"--deadline={self.options.deadline}s", *self.options.flags, *flags]
        how = {"settings": self.options.settings, **how}
        client = loads.Client(self.options.build, self.framework, path or self.path, addresses, flags, **how)
        self.programs.append(client)
        return client

    @property
    def gone(self):
        return loads.GONE[self.framework]

    @property
    def silent(self):
        return loads.SILENT[self.framework]

    def pause(self, shortest=0.02, longest=0.4):
        time.sleep(self.chance.uniform(shortest, longest))  # the moment of the fault

    def remember(self, *lasting):
        """What they hold, to be compared in the end."""
        for program in lasting:
            # Two of a link. Where the machine stands still, calls may come from one server long before they do from another.
            self.held[program] = settled(program, mappings=2 * program.connections if self.path == "shm" else 0)

    def end(self, row):
        """Everybody is as before, and ends when asked; clients first."""
        for program, before in self.held.items():
            check_holdings(row, program, before)
        for client in self.alive(loads.Client):
            for report in client.last_report():
                row.last.add(report)
        for server in self.alive(loads.Server):
            if fault := server.end_fault():
                row.problems.append(f"a server: {fault}")

    def alive(self, kind):
        return [program for program in self.programs if isinstance(program, kind) and not program.ended()]

    def close(self):
        for program in self.programs:
            program.close()


def raise_descriptor_limit(wanted):
    """Of programs to come."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise RuntimeError(f"{wanted} descriptors are needed, and the limit is {hard}: see 'ulimit -Hn'")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def server_killed(scene, row):
    """SIGKILL at any moment of the server's life, from before it listens on. Nobody waits for its deadline to learn of it."""
    row.allowed = scene.gone
    victim, other = scene.server(), scene.server()
    addresses = victim.address(), other.address()
    client = scene.client(*addresses)
    await_calls(client, row)
    scene.remember(client, other)
    if scene.framework == "grpc" and scene.path == "rdma":
        row.slack += LEAKED_BY_GRPC * (scene.options.times // 100)
    while row.times < scene.options.times:
        scene.pause()
        for _ in range(scene.chance.choice((1, 1, 1, 3))):  # now and then one that has hardly begun
            victim.kill()
            row.times += 1
            victim = scene.server(addresses[0])
            scene.pause(0, 0.03)
        victim.address()
        row.recoveries.append(await_calls(client, row))


def client_killed(scene, row):
    """SIGKILL of a client in the midst of its calls, again and again, while another one calls the same server."""
    server = scene.server()
    address = server.address()
    beside = scene.client(address)
    first = scene.client(address)
    await_neighbour(beside, row)
    await_calls(first, row)
    first.kill()
    scene.remember(server, beside)
    while row.times < scene.options.times:
        victim = scene.client(address)
        row.recoveries.append(await_calls(victim, row))
        scene.pause(0, 0.2)
        victim.kill()
        row.times += 1
        row.neighbours.add(beside.report()[0])


LONGEST_STOP = 3  # seconds, unless told otherwise; no attempt to connect gives up meanwhile


def stop_length(scene):
    """Mostly short; sometimes beyond the deadline of what is under way."""
    chance = scene.chance
    lengths = chance.uniform(0.001, 0.05), chance.uniform(0.05, 0.5), chance.uniform(1, LONGEST_STOP)
    return scene.options.stop or chance.choice(lengths)


def outcomes_of_stops(scene):
    """No connection ends for a stop; attempts to connect do, if it is long."""
    return scene.silent | scene.gone if (scene.options.stop or 0) > LONGEST_STOP else scene.silent


PATIENT = "--connecting=20s"  # of gRPC's attempts


def server_stopped(scene, row):
    """SIGSTOP and SIGCONT of a server."""
    row.allowed = outcomes_of_stops(scene)
    victim, other = scene.server(), scene.server()
    client = scene.client(victim.address(), other.address(), flags=[PATIENT])
    await_calls(client, row)
    scene.remember(victim, other, client)
    while row.times < scene.options.times:
        scene.pause()
        with victim.stopped():
            time.sleep(stop_length(scene))
        row.times += 1
        row.recoveries.append(await_calls(client, row))


def client_stopped(scene, row):
    """SIGSTOP and SIGCONT of a client, whose own calls are late by the time it was stopped."""
    row.allowed = outcomes_of_stops(scene)
    server = scene.server()
    address = server.address()
    victim, beside = scene.client(address, flags=[PATIENT]), scene.client(address)
    server.connections = 2
    await_neighbour(beside, row)
    await_calls(victim, row)
    scene.remember(server, victim, beside)
    stopped = 0.0
    while row.times < scene.options.times:
        scene.pause()
        row.calls.add(excuse(victim.report()[0], stopped))  # some may have taken until now
        start = time.monotonic()
        with victim.stopped():
            time.sleep(stop_length(scene))
            row.neighbours.add(beside.report()[0])
        stopped = time.monotonic() - start
        row.times += 1
        row.recoveries.append(await_calls(victim, row, forgiven=stopped))
    scene.pause()
    row.calls.add(excuse(victim.report()[0], stopped))


def churn(scene, row):
    """Connections that come and go with each call: 20 for each time. Nobody is in a hurry: this gRPC leaks a connection, over
    TCP as well, whose channel is closed between the end of its handshake and the peer's SETTINGS."""
    server = scene.server()
    address = server.address()
    beside = scene.client(address)
    client = scene.client(address, flags=["--calls_each=1", "--most_bytes=1000", "--hurried=0"])
    await_neighbour(beside, row)
    await_calls(client, row)
    row.slack = SLACK_OF_CHURN
    for one in (server, client):
        scene.held[one] = kernel.held(one.pid)
    while row.times < scene.options.times:
        row.times += row.calls.add(client.report()[0]) / 20
        row.neighbours.add(beside.report()[0])
        time.sleep(0.1)
    row.times = int(row.times)
    row.recoveries.append(await_calls(client, row))


DESCRIPTORS_OF_A_LINK = 8  # at most


def kept(scene, row):
    """Connections that come, have a call, and stay, 20 for each time; then their process ends."""
    connections = 20 * scene.options.times
    raise_descriptor_limit(connections + 1000)
    server = scene.server()
    address = server.address()
    beside = scene.client(address)
    await_neighbour(beside, row)
    row.slack = SLACK_OF_CHURN
    scene.remember(server, beside)
    client = scene.client(address, flags=["--calls_each=1", f"--kept={connections}", "--most_bytes=1000", "--hurried=0"])
    await_calls(client, row)
    before = {one: kernel.resident_bytes(one.pid) / 1024 for one in (server, client)}
    # Since before there was the client, which may have opened many by now.
    first = scene.held[server]["descriptors"] + DESCRIPTORS_OF_A_LINK

    def ended():
        return sum(row.calls.statuses.values())

    def opened():
        return kernel.held(server.pid)["descriptors"] - first

    # Each call has its own. (To count ten thousand descriptors takes an emulated processor seconds.)
    while (ended() < connections or opened() < connections) and ended() < 2 * connections and not row.calls.other_than(loads.FINE):
        time.sleep(0.1)
        row.calls.add(client.report()[0])
        row.neighbours.add(beside.report()[0])
    more = opened()
    row.neighbours.add(beside.report()[0])
    if more < connections:
        row.problems.append(f"of {connections} connections there are {more}")
    each = [(kernel.resident_bytes(one.pid) / 1024 - before[one]) / max(1, more) for one in (server, client)]
    row.remark = f"{more} connections, {each[0]:.1f} KiB each in the server, {each[1]:.1f} in the client; "
    row.times = scene.options.times
    # This gRPC needs longer for each channel the more there are. Its server answers others seldom meanwhile, over TCP as well.
    start = time.monotonic()
    row.calls.add(client.last_report(loads.PATIENCE + 10 + connections / 50)[0])
    row.recoveries.append(await_calls(beside, row, to=row.last))
    if time.monotonic() - start > scene.options.deadline:
        row.allowed = scene.silent


def forked(scene, row):
    """A client forks in the midst of its calls, and its child ends, in one of three ways."""
    server, other = scene.server(), scene.server()
    client = scene.client(server.address(), other.address())
    await_calls(client, row)
    scene.remember(client, server, other)
    hung = 0
    while row.times < scene.options.times:
        scene.pause()
        way = scene.chance.choice(("exec", "_exit", "exit"))
        fate = client.fork(way)
        # exit() destroys what libraries have, and may wait for a lock that another thread of the parent had.
        if way == "exit" and fate == HUNG:
            hung += 1
        elif fate:
            row.problems.append(f"{way}: {fate}")
        row.times += 1
        row.recoveries.append(await_calls(client, row))
    if hung > 0:
        row.remark = f"{hung} children hung in exit(); "
    if hung > 1 + row.times / 100:
        row.problems.append("more children hung than for what libraries do")


HUNG = "a forked child ended by signal 14"


def no_descriptors(scene, row):
    """A server, then a client, that may open hardly any file, while connections come and go."""
    row.allowed = scene.gone | scene.silent
    server, other = scene.server(), scene.server()
    addresses = server.address(), other.address()
    beside = scene.client(*addresses, flags=["--calls_each=5"])
    client = scene.client(addresses[0], flags=["--calls_each=5"])
    for one in (beside, client):
        await_calls(one, row)
    row.slack = SLACK_OF_CHURN
    scene.remember(server, other, beside, client)
    replaced = 0
    while row.times < scene.options.times:
        victim = scene.chance.choice((server, client))
        with victim.short_of_descriptors(scene.chance.randrange(2, 6)):
            scene.pause(0.1, 0.6)
        row.times += 1
        # With none left when it looks for the next connection, this gRPC never accepts again (tcp_server_posix.cc).
        deaf = scene.framework == "grpc" and not accepts(addresses[0], 2)
        if deaf:
            replaced += 1
            server.kill()
            del scene.held[server]
            server = scene.server(addresses[0])
            server.address()
        row.recoveries.append(max(await_calls(one, row) for one in (beside, client)))
        if deaf:
            scene.remember(server)
    if replaced > 0:
        row.remark = f"{replaced} times gRPC accepted no more, and was started anew; "
    if replaced > 2 + row.times / 20:
        row.problems.append("a server accepted no more oftener than for gRPC's own reason")
    if row.times >= ENOUGH_TO_REFUSE and not row.calls.other_than(loads.FINE):
        row.problems.append("nobody lacked a descriptor")


FAULTS = {
    "server-killed": server_killed, "client-killed": client_killed, "server-stopped": server_stopped,
    "client-stopped": client_stopped, "no-descriptors": no_descriptors, "churn": churn, "kept": kept, "forked": forked,
}  # fmt: skip


def run(options, framework, path, fault, faults):
    row = Row(f"{framework}, {path}, {fault}", "" if path == "tcp" else path, silent=loads.SILENT[framework])
    scene = Scene(options, framework, path, random.Random(f"{options.seed} {row.title}"))
    try:
        faults[fault](scene, row)
        scene.end(row)
        judge(row, options.recovery)
    except (OSError, RuntimeError, Silence, subprocess.SubprocessError) as problem:
        row.problems.append(str(problem))
    finally:
        scene.close()
    print(row.text(), flush=True)
    return not row.problems


def run_all(options, faults):
    """`faults`: functions of a scene and a row, by name. Whether each was as it should be."""
    return [
        run(options, framework, path, fault, faults)
        for path in options.path or ["shm"]
        for framework in options.framework or loads.FRAMEWORKS
        for fault in options.fault or faults
    ]


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def parse_arguments(faults, arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--times", type=positive, default=10, help="that each happens (%(default)s)")
    parser.add_argument("--framework", choices=loads.FRAMEWORKS, action="append")
    parser.add_argument("--path", choices=loads.PATHS, action="append", help="shm unless told otherwise")
    parser.add_argument("--fault", choices=faults, action="append")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--host", default="127.0.0.1", help="that servers listen on (%(default)s)")
    parser.add_argument("--deadline", type=float, default=2, help="of calls, in seconds (%(default)s)")
    parser.add_argument("--recovery", type=float, default=5, help="seconds until calls must succeed again (%(default)s)")
    parser.add_argument("--stop", type=float, help="seconds that processes are stopped for (default: 1 ms to 3 s)")
    parser.add_argument("--flag", dest="flags", action="append", default=[], help="another one of the clients'")
    parser.add_argument("--set", dest="settings", metavar="SKEIN_NAME=VALUE", action="append", default=[], help="of all programs")
    parser.add_argument("--check", action="store_true", help="look at these options, and do nothing")
    options = parser.parse_args(arguments)
    options.settings = dict(setting.split("=") for setting in options.settings)
    return options


def main():
    options = parse_arguments(FAULTS)
    if options.check:
        return 0
    print(f"--seed={options.seed}", flush=True)
    results = run_all(options, FAULTS)
    print(f"{sum(results)} of {len(results)} as they should be")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
