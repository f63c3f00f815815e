"""The counter's log has two replicas, and two of the three logs have what is acknowledged. The server and its replicas are
killed with SIGKILL at random moments, while clients add 1 by durable calls; every third server that is killed does not come
back: a replica is promoted, and its log served."""

import pathlib
import random
import re
import tempfile
import time

from skeintest.child import Child, run_to_end
from skeintest.kernel import free_ports

CLIENTS = 3
CALLS_EACH = 60  # that a client adds between two kills, about
LONGEST_LIFE = 0.3  # seconds
ACKNOWLEDGE = 2
BYTES = 2 << 20


class Host:
    """A log, and the process that has it: a replica, or the server."""

    def __init__(self, folder, name, port):
        self.log = folder / f"log-{name}"
        self.address = f"127.0.0.1:{port}"
        self.process = None

    def start(self, *command):
        self.process = Child(command)


class Cluster:
    def __init__(self, build, folder, chance):
        self.skein = build / "tools/skein/skein"
        self.counter = build / "examples/counter/counter_server"
        self.client = build / "examples/counter/counter_client"
        *ports, served = free_ports(4)
        self.service = f"127.0.0.1:{served}"
        self.total = folder / "total"  # a checkpoint must be where each server reaches it
        self.chance = chance
        self.hosts = [Host(folder, name, port) for name, port in zip("abc", ports)]
        self.killed = {"server": 0, "replica": 0}
        self.promoted = 0
        for replica in self.hosts[1:]:
            self.start_replica(replica)
        self.start_server()
        self.server.process.line()  # it listens: two logs have it: one replica can be promoted from now on

    @property
    def server(self):
        return self.hosts[0]

    def start_replica(self, host):
        host.start(self.skein, "durable", "replica", "--listen", host.address, host.log)
        host.process.line()

    def start_server(self):
        others = [host.address for host in self.hosts[1:]]
        self.server.start(self.counter, self.server.log, self.service, BYTES, self.total, ACKNOWLEDGE, *others)

    def caller(self, calls):
        return Child([self.client, self.service, calls], talks=False)

    def kill_replica(self):
        host = self.chance.choice(self.hosts[1:])
        host.process.close()
        self.killed["replica"] += 1
        self.pause()
        self.start_replica(host)

    def kill_server(self):
        self.server.process.close()
        self.killed["server"] += 1
        if self.killed["server"] % 3 == 0:
            self.promote_one()
        self.start_server()

    def promote_one(self):
        """The server's former host comes back as a replica."""
        replicas = self.hosts[1:]
        self.chance.shuffle(replicas)
        for chosen, other in (replicas, replicas[::-1]):
            chosen.process.close()
            words = [self.skein, "durable", "promote", "--ask", other.address, chosen.log]
            status, said = run_to_end(words, None, None, 60)
            if "has no log" in said:  # no disk is lost here: that replica has never had one, and acknowledged nothing
                status, said = run_to_end([*words, "--accept-loss"], None, None, 60)
            if status == 0:
                self.promoted += 1
                self.hosts = [chosen, other, self.server]
                self.start_replica(self.hosts[2])
                return
            assert any(reason in said for reason in ("goes further", "has not got", "there is no file")), said
            self.start_replica(chosen)
        raise AssertionError("neither replica can be promoted")

    def pause(self):
        time.sleep(self.chance.uniform(0.01, LONGEST_LIFE))  # the moment of a kill

    def close(self):
        for host in self.hosts:
            if host.process is not None:
                host.process.close()


def test_killed_servers_and_replicas_and_promoted_logs_execute_each_call_once(build, kills, seed):
    kills = kills or 6
    print(f"{kills} kills of each, --seed={seed}", flush=True)
    began, calls = time.monotonic(), CALLS_EACH * kills
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(build, pathlib.Path(folder), random.Random(seed))
        try:
            clients = [cluster.caller(calls) for _ in range(CLIENTS)]
            for _ in range(kills):
                cluster.pause()
                cluster.kill_replica()
                cluster.pause()
                cluster.kill_server()
            statuses = [client.wait(600) for client in clients]
            assert statuses == [0] * CLIENTS, [client.log() for client in clients]
            reader = cluster.caller(1)
            assert reader.wait(60) == 0, reader.log()
            assert int(re.search(r"total (\d+)", reader.log())[1]) == CLIENTS * calls + 1, reader.log()
        finally:
            cluster.close()
    print(f"{cluster.killed['server']} servers and {cluster.killed['replica']} replicas killed, {cluster.promoted} promoted, "
          f"{CLIENTS * calls} calls: each executed once, in its client's order, in {time.monotonic() - began:.0f} s")  # fmt: skip
