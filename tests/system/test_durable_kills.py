"""The counter's server is killed with SIGKILL at random moments, while clients add 1 to it by durable calls."""

import pathlib
import random
import re
import signal
import tempfile
import time
import unittest

from skeintest import durable, probes

CLIENTS = 3
CALLS_EACH = 250  # that a client adds between two kills, about
LONGEST_LIFE = 0.3  # seconds
# What is no complaint. Current gRPC logs for information to standard error, too.
USUAL = re.compile(r"listening on |I\d{4} |WARNING: All log messages before")


def complaints_of(server):
    return [line for line in server.log().splitlines() if not USUAL.match(line)]


def kill_again_and_again(service, kills, chance):
    """Returns what the servers complained of."""
    complaints = []
    for kill in range(kills):
        if kill > 0:
            service.start()
        # From its first instruction on: also while it recovers, and before it listens.
        time.sleep(chance.uniform(0.01, LONGEST_LIFE))  # the moment of the kill
        service.server.kill()
        complaints += complaints_of(service.server)
    return complaints


def total(service):
    """What a new server has on its disk; the caller adds 1 to learn of it."""
    service.start_and_listen()
    reader = service.caller(1)
    assert reader.wait(60) == 0, reader.log()
    return int(re.search(r"total (\d+)", reader.log())[1]) - 1


def assert_each_call_counts_once(build, kills, seed, **settings):
    print(f"{kills} kills, --seed={seed}", flush=True)
    # Not under /tmp if that is in memory: a kill is what the log must survive there, too, but nobody asks it for more.
    with tempfile.TemporaryDirectory() as folder:
        service = durable.Service(build, "grpc", pathlib.Path(folder), settings=settings)
        try:
            service.start_and_listen()
            calls, began = CALLS_EACH * kills, time.monotonic()
            clients = [service.caller(calls) for _ in range(CLIENTS)]
            complaints = kill_again_and_again(service, kills, random.Random(seed))
            service.start()  # this one lives
            statuses = [client.wait(600) for client in clients]
            assert statuses == [0] * CLIENTS, [client.log() for client in clients]
            service.server.stop(number=signal.SIGTERM)
            assert complaints + complaints_of(service.server) == []
            assert total(service) == CLIENTS * calls
            print(f"{kills} kills, {CLIENTS * calls} calls: each executed once, in its client's order, "
                  f"in {time.monotonic() - began:.0f} s")  # fmt: skip
        finally:
            service.close()


def test_a_killed_counter_executes_each_call_once_and_in_its_clients_order(build, kills, seed):
    assert_each_call_counts_once(build, kills or 12, seed)


# The server calls itself by a channel that it makes from a descriptor.
def test_a_killed_counter_with_the_preload_library_does_so_too(build, seed):
    library = probes.preload_library()
    if not library.exists():
        raise unittest.SkipTest("this build has no preload library")
    assert_each_call_counts_once(build, 2, seed, LD_PRELOAD=str(library), SKEIN_GRPC="prefer")
