"""A pairing that did not use the path it must is found out by the logs."""

import unittest

import paths

SHM = "I1121 07:31 endpoint.cc:10] skein: client ipv4:127.0.0.1:50051 uses shm\n"
TCP = "I1121 07:31 endpoint.cc:10] skein: client ipv4:127.0.0.1:50052 uses tcp: the peer does not speak Skein\n"
TCP_UNEXPLAINED = "skein: client ipv4:127.0.0.1:50052 uses tcp\n"


class Faults(unittest.TestCase):
    def test_parts_of_a_line(self):
        self.assertEqual(paths.paths_in("x\n" + TCP),
                         [("client", "ipv4:127.0.0.1:50052", "tcp", "the peer does not speak Skein")])

    def test_as_it_must_be(self):
        self.assertEqual(paths.fault(SHM + SHM, "client", peer_is_skein=True), "")
        self.assertEqual(paths.fault(TCP, "client", peer_is_skein=False), "")
        self.assertEqual(paths.plain_fault("Testing these cases: empty_unary\n"), "")

    def test_never_preloaded(self):
        self.assertIn("logged no path", paths.fault("", "client", peer_is_skein=True))
        self.assertIn("logged no path", paths.fault(SHM, "server", peer_is_skein=True))

    def test_one_connection_fell_back(self):
        self.assertIn("does not speak Skein", paths.fault(SHM + TCP, "client", peer_is_skein=True))

    def test_plain_peer(self):
        self.assertIn("uses shm", paths.fault(SHM, "client", peer_is_skein=False))
        self.assertIn("no reason", paths.fault(TCP_UNEXPLAINED, "client", peer_is_skein=False))

    def test_plain_process_is_plain(self):
        self.assertNotEqual(paths.plain_fault(TCP), "")
