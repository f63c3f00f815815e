"""Calls that went wrong, or elsewhere, are found out by what clients and servers say."""

import pathlib
import unittest

import styles

SCENE = styles.Scene(pathlib.Path("build"), pathlib.Path("results"))
LOG = """I1125 14:19 path_list.cc:17] skein: server ipv4:127.0.0.1:1 uses shm
I1125 14:19 path_list.cc:17] skein: server ipv4:127.0.0.1:2 uses tcp: peer does not speak Skein
"""


def report(statuses, path, wrong=0):
    return {"statuses": statuses, "why": {}, "paths": path, "wrong": wrong, "what": "echo of 7 bytes" if wrong else ""}


class Reports(unittest.TestCase):
    def fault(self, *said, says="tcp: peer"):
        return styles.report_fault(report(*said), says, 20)

    def test_as_it_must_be(self):
        self.assertEqual(self.fault({"OK": 20}, {"tcp: peer does not speak Skein": 20}), "")
        self.assertEqual(self.fault({"OK": 20}, {"rdma:rxe0/1: switched off": 20}, says="rdma"), "")

    def test_a_wrong_byte(self):
        self.assertIn("echo of 7 bytes", self.fault({"OK": 20}, {"tcp: peer": 20}, 1))

    def test_calls_that_failed_or_were_not_made(self):
        self.assertIn("UNAVAILABLE", self.fault({"OK": 19, "UNAVAILABLE": 1}, {"tcp: peer": 19}))
        self.assertIn("19", self.fault({"OK": 19}, {"tcp: peer": 19}))
        self.assertNotEqual(self.fault({}, {}), "")

    def test_other_paths(self):
        self.assertIn("shm", self.fault({"OK": 20}, {"tcp: peer": 19, "shm": 1}))
        self.assertIn("switched off", self.fault({"OK": 20}, {"tcp: switched off": 20}))
        self.assertIn("none", self.fault({"OK": 20}, {"none": 20}))
        self.assertIn("stock", self.fault({"OK": 20}, {"tcp: stock": 20}, says="shm"))


class Logs(unittest.TestCase):
    def test_as_it_must_be(self):
        self.assertEqual(styles.log_fault(LOG, {"shm": 1, "tcp: peer": 1}), "")
        self.assertEqual(styles.log_fault("Synchronous server\n", {None: 6}), "")

    def test_a_connection_is_missing(self):
        self.assertIn("2 connections were to use shm, and it has logged 1", styles.log_fault(LOG, {"shm": 2, "tcp: peer": 1}))

    def test_connections_elsewhere(self):
        self.assertIn("over shm", styles.log_fault(LOG, {"tcp: peer": 1}))

    def test_a_stock_server_is_stock(self):
        self.assertIn("over shm", styles.log_fault(LOG, {None: 2}))


class Pairings(unittest.TestCase):
    def test_each_is_told_from_the_others(self):
        """By what both ends say. (Of two stock processes nobody says anything.)"""
        said = [(pairing.client_says, pairing.server_says) for pairing in SCENE.pairings.values()]
        self.assertEqual(len(set(said)), len(said))

    def test_rows(self):
        results = [styles.report.Result(styles.Job("skein/skein", kind, "queue", "tls"), fault, 0, None)
                   for kind, fault in (("queued", ""), ("put", "late"))]  # fmt: skip
        self.assertEqual(list(styles.outcomes(results, SCENE.pairings, ", hosts")), [
            ("gRPC queue, hosts, tls", "skein/skein", "shm", ""),
            ("gRPC streams, hosts, tls", "skein/skein", "shm", "late"),
        ])  # fmt: skip
