"""One end may have few descriptors, of every number from 8 on. Calls that succeed over TCP succeed with Skein in mode
prefer: over TCP, with the reason, where there are too few for more."""

import unittest

from skeintest import loads, probes
from skeintest.child import Silence

LIMITS = range(8, 41)
# gRPC closes sockets, and makes descriptors of its own, in threads of its own: with one descriptor to spare, calls over
# TCP fail now and then as well.
TRIES = 5


def report(framework, limited, limit, mode):
    """Of 10 calls by two connections of a client that, or whose server, may have so many descriptors."""
    prefix = {limited: ["prlimit", f"--nofile={limit}:{limit}"]}
    how = {"mode": mode, "settings": {"SKEIN_RDMA": "auto"}}
    with loads.Server(probes.build(), framework, "shm", prefix=prefix.get("server", ()), **how) as server:
        flags = ["--threads=1", "--connections=2", "--calls_each=5", "--hurried=0", "--most_bytes=100000"]
        of_client = {**how, "prefix": prefix.get("client", ())}
        with loads.Client(probes.build(), framework, "shm", [server.address()], flags, **of_client) as client:
            (found,) = client.receive(loads.PATIENCE)
            return found


def well(found):
    return set(found["statuses"]) <= loads.FINE and found["statuses"].get("OK", 0) > 0 and found["wrong"] == 0


def tried(framework, limited, limit, mode):
    try:
        return report(framework, limited, limit, mode)
    except Silence as why:
        return {"statuses": {}, "paths": {}, "wrong": 0, "why": str(why)}


def with_skein(framework, limited, limit):
    """The first report of calls that went well, or the last."""
    for _ in range(TRIES):
        found = tried(framework, limited, limit, "prefer")
        if well(found):
            break
    return found


def goes_well_over_tcp(framework, limited, limit):
    return all(well(tried(framework, limited, limit, "off")) for _ in range(TRIES))


class FewDescriptors(unittest.TestCase):
    def sweep(self, framework, limited):
        paths = set()
        for limit in LIMITS:
            with self.subTest(limit=limit):
                found = with_skein(framework, limited, limit)
                self.assertTrue(well(found) or not goes_well_over_tcp(framework, limited, limit), found)
                for path in found["paths"]:
                    self.assertRegex(path, "^(shm|tcp: out of resources .*ulimit -n.*)$")
                    paths.add(path.split(":")[0])
        self.assertEqual(paths, {"shm", "tcp"}, "the sweep is to meet both")

    def test_a_grpc_server_short_of_descriptors_serves_over_tcp_and_says_why(self):
        self.sweep("grpc", "server")

    def test_a_grpc_client_short_of_descriptors_calls_over_tcp_and_says_why(self):
        self.sweep("grpc", "client")

    def test_a_thrift_server_short_of_descriptors_serves_over_tcp_and_says_why(self):
        self.sweep("thrift", "server")

    def test_a_thrift_client_short_of_descriptors_calls_over_tcp_and_says_why(self):
        self.sweep("thrift", "client")
