"""One end may have few descriptors, of every number from 8 on. Calls that succeed over TCP succeed with Skein in mode
prefer: over TCP, with the reason, where there are too few for more."""

import unittest

from skeintest import loads, probes

LIMITS = range(8, 41)


class FewDescriptors(unittest.TestCase):
    def sweep(self, framework, limited):
        paths = set()
        for limit in LIMITS:
            with self.subTest(limit=limit):
                # gRPC closes sockets, and makes descriptors of its own, in threads of its own: with one to spare, calls
                # over TCP fail now and then as well.
                few = ["prlimit", f"--nofile={limit}:{limit}"]
                found, fine = loads.as_over_tcp(probes.build(), framework, limited, few, calls_each=5)
                self.assertTrue(fine, found)
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
