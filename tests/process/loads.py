"""The programs of tests/load over Thrift, for tests of whole processes."""

import pathlib
import sys

import harness

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "load"))

import programs  # noqa: E402
from processes import await_true  # noqa: E402


class ThriftLoads:
    """What a test case has of them besides."""

    def start(self, kind, *words, **how):
        program = kind(harness.binary("probe_server").parents[2], "thrift", "shm", *words, **how)
        self.addCleanup(program.close_pipes)
        self.addCleanup(program.process.wait)
        self.addCleanup(program.process.kill)
        return program

    def callers(self, address, **how):
        """Each of their connections is given up for another one after some calls."""
        return self.start(programs.Client, [address], ["--calls_each=50", "--most_bytes=10000", "--deadline=10s"], **how)

    def served(self, client):
        """What calls have come to until some were answered, all of them well."""
        calls = programs.Sum()
        self.assertTrue(await_true(lambda: calls.add(client.report()[0]), 15), calls.statuses)
        self.assert_fine(calls)
        return calls

    def assert_fine(self, calls):
        self.assertEqual(calls.other_than(programs.FINE), {}, calls.why)
        self.assertEqual(calls.wrong, 0, calls.what)
