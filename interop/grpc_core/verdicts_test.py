"""A case that fails, hangs or is not over Skein does not pass; one that TCP fails as well is not counted."""

import collections
import unittest

import verdicts

END = "I1127 test_config.cc:175] TestEnvironment ends\n"
SHM = "I1127 path_list.cc:17] skein: client ipv4:127.0.0.1:50051 uses shm\n"
TCP = "I1127 path_list.cc:17] skein: client ipv4:127.0.0.1:50052 uses tcp: the peer does not speak Skein\n"

Result = collections.namedtuple("Result", "name failure")


def skein_fault(status, log, over="shm", may_never_connect=False):
    return verdicts.skein_fault(status, log, 60, over, may_never_connect)


class OneRun(unittest.TestCase):
    def test_passes(self):
        self.assertEqual(verdicts.stock_fault(0, END, 60), "")
        self.assertEqual(skein_fault(0, SHM + END), "")

    def test_fails(self):
        for status, log, why in ((-6, SHM, "status -6"), (None, SHM, "no end after 60 s"), (0, SHM, "never logged")):
            with self.subTest(why):
                self.assertIn(why, verdicts.stock_fault(status, log, 60))
                self.assertIn(why, skein_fault(status, log))

    def test_that_is_called_stock_knows_nothing_of_skein(self):
        self.assertNotEqual(verdicts.stock_fault(0, SHM + END, 60), "")

    def test_over_skein_has_no_connection_over_tcp(self):
        self.assertIn("does not speak Skein", skein_fault(0, SHM + TCP + END))
        self.assertIn("does not speak Skein", skein_fault(0, TCP + END, may_never_connect=True))

    def test_over_skein_has_a_connection_if_the_case_has_one(self):
        self.assertIn("no connection over shm", skein_fault(0, END))
        self.assertEqual(skein_fault(0, END, may_never_connect=True), "")

    def test_of_a_fixture_without_a_handshake_has_no_path(self):
        self.assertEqual(skein_fault(0, END, over=""), "")
        self.assertIn("uses shm", skein_fault(0, SHM + END, over=""))


class OneCase(unittest.TestCase):
    def test_counts_as_often_as_it_ran_with_skein(self):
        runs = [Result("stock", ""), Result("auto", ""), Result("http2", "no end after 60 s")]
        self.assertEqual(verdicts.counted(runs), runs[1:])

    def test_that_fails_without_skein_does_not_count(self):
        self.assertEqual(verdicts.counted([Result("stock", "ended with status -6"), Result("auto", "")]), [])
