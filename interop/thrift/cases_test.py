"""Which cases are run in which pairing, and what of their ends is taken for a failure."""

import collections
import contextlib
import io
import pathlib
import unittest
import unittest.mock

import cases
import peers
import run_thrift
import tls_wire

SERVED = "testVoid()\nAll tests done.\n"
CRASHED = -6


class Jobs(unittest.TestCase):
    def jobs(self, *pairings):
        return list(run_thrift.jobs_of(pairings or cases.PAIRINGS))

    def test_the_whole_matrix_in_every_pairing(self):
        count = collections.Counter(job.column for job in self.jobs() if job.table == "cross")
        self.assertEqual(count, {"stock/stock": 104, "skein/stock": 103, "stock/skein": 103, "skein/skein": 103})

    def test_what_stock_fails_at_is_stock_alone(self):
        (job,) = [job for job in self.jobs() if job.case.flaw]
        self.assertEqual((job.modes, job.fault), ((None, None), peers.flaw_fault))

    def test_two_skein_programs_never_fall_back(self):
        self.assertEqual({job.modes for job in self.jobs("skein/skein") if job.table == "cross"}, {("require", "require")})

    def test_tls_of_each_server_and_transport_in_every_pairing(self):
        for pairing in cases.PAIRINGS:
            run = [job.case for job in self.jobs(pairing) if job.table == "tls"]
            self.assertEqual({case.server_type for case in run}, set(cases.SERVER_TYPES))
            self.assertEqual({case.transport for case in run}, set(cases.TRANSPORTS))
            self.assertEqual([case for case in run if not {"--ssl"} <= {*case.client_flags()} & {*case.server_flags()}], [])

    def test_tls_stays_on_tcp_in_a_row_of_its_own(self):
        results = [run_thrift.report.Result(job, "", 0.25, None) for job in self.jobs() if job.table in ("cross", "tls")]
        over = {(row, pairing): path for row, pairing, path, _ in run_thrift.outcomes(results)}
        self.assertEqual({over["Thrift, tls", pairing] for pairing in cases.PAIRINGS}, {"tcp"})
        self.assertEqual(over["Thrift", "skein/skein"], "shm")

    def test_each_kind_of_server_and_client_refuses(self):
        refused = {(job.case.server_type, job.modes) for job in self.jobs() if job.table == "refused"}
        self.assertEqual(refused, {(kind, modes) for kind in ("simple", "nonblocking")
                                   for modes in (("require", None), (None, "require"))})

    def test_stock_asks_for_no_skein_program(self):
        programs = peers.Programs(pathlib.Path("build"))
        files = {file.name for job in self.jobs("stock/stock") for file in programs.of(job.case, job.modes)}
        self.assertEqual([file for file in files if not file.endswith("_stock")], [])

    def test_logs_do_not_overwrite_each_other(self):
        stems = [job.stem() for job in self.jobs()]
        self.assertEqual(len(set(stems)), len(stems))


class Faults(unittest.TestCase):
    case = cases.REFUSED[0]

    def test_client(self):
        self.assertEqual(peers.client_fault(self.case, 0, SERVED), "")
        self.assertIn("never logged", peers.client_fault(self.case, 0, "testVoid()\n"))
        self.assertIn("status -6", peers.client_fault(self.case, CRASHED, SERVED))
        self.assertIn("no end", peers.client_fault(self.case, None, SERVED))

    def test_refusal(self):
        self.assertEqual(peers.refusal_fault(self.case, 64, "Connect failed"), "")
        self.assertIn("served", peers.refusal_fault(self.case, 0, SERVED))
        self.assertIn("no end", peers.refusal_fault(self.case, None, ""))

    def test_flaw_that_is_gone(self):
        self.assertEqual(peers.flaw_fault(self.case, CRASHED, ""), "")
        self.assertIn("had to fail", peers.flaw_fault(self.case, 0, SERVED))

    def test_boost_ran_fewer_cases(self):
        boost = cases.boost("some_test", 7)
        self.assertEqual(peers.client_fault(boost, 0, "Running 7 test cases...\n*** No errors detected\n"), "")
        self.assertIn("Running 7", peers.client_fault(boost, 0, "Running 6 test cases...\n*** No errors detected\n"))


class Records(unittest.TestCase):
    HANDSHAKE, DATA = b"\x16\x03\x01\x00\x02hi", b"\x17\x03\x03\x00\x05hello"

    def fault(self, *pieces, least=2):
        records = tls_wire.Records()
        for piece in pieces:
            records.take(piece)
        return records.fault(least)

    def test_wherever_they_are_cut(self):
        said = self.HANDSHAKE + 2 * self.DATA
        self.assertEqual([self.fault(said[:cut], said[cut:]) for cut in range(len(said))], len(said) * [""])
        self.assertEqual(self.fault(*(bytes([byte]) for byte in said)), "")

    def test_too_few_with_data(self):
        self.assertIn("1 records", self.fault(self.HANDSHAKE, self.DATA))

    def test_what_is_not_tls(self):
        self.assertIn("a5 0d 0a", self.fault(b"\xa5\r\n", b"\xa5\0\0\0"))
        self.assertIn("80 01 00 01", self.fault(self.DATA, self.DATA, b"\x80\x01\x00\x01\0\0\0\4call"))
        self.assertIn("17 03 03 00", self.fault(self.DATA, self.DATA, self.DATA[:-1]))


class Attempts(unittest.TestCase):
    def passed_at(self, passing, attempts):
        """Whether a job passes, and how many runs that took, of a program whose run number `passing` is the first good one."""
        runs = []

        def fault(*_):
            runs.append(None)
            return "" if len(runs) == passing else "too late"

        job = run_thrift.Job("one process", "skein/skein", cases.boost("some_test", 7, attempts=attempts), ("require",), fault)
        with unittest.mock.patch.object(peers, "run_solo", return_value=(0, "")), contextlib.redirect_stderr(io.StringIO()):
            result = run_thrift.run_job(None, pathlib.Path("logs"), job)
        return not result.failure, len(runs)

    def test_until_one_passes(self):
        self.assertEqual(self.passed_at(passing=1, attempts=3), (True, 1))
        self.assertEqual(self.passed_at(passing=3, attempts=3), (True, 3))
        self.assertEqual(self.passed_at(passing=4, attempts=3), (False, 3))
        self.assertEqual(self.passed_at(passing=2, attempts=1), (False, 1))


class Cells(unittest.TestCase):
    def test_text(self):
        passed, failed = (run_thrift.report.Result(None, failure, 0.25, None) for failure in ("", "why"))
        self.assertEqual([run_thrift.cell_text(results) for results in (None, [passed], [failed])], ["", "0.2 s", "FAIL"])
        self.assertEqual(run_thrift.cell_text([passed, passed]), "2 in 0.5 s")
        self.assertEqual(run_thrift.cell_text([passed, failed]), "1 of 2 FAIL")
