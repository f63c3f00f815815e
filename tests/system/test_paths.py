"""skein paths: what it says of running processes, of those it cannot ask, and of how it was called."""

import json
import os
import pathlib
import shutil
import unittest

from skeintest import probes
from skeintest.cases import ProcessTest
from skeintest.kernel import await_true

def paths(*arguments, **how):
    return probes.skein("paths", *arguments, **how)


class Paths(ProcessTest):
    def test_both_ends_of_a_connection(self):
        server = self.server()
        client = self.client(server.address)
        self.assert_calls_succeed(client, count=1)
        result = paths(client.pid, server.pid)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        heading, one, other = result.stdout.splitlines()
        self.assertEqual(heading.split()[:7], ["PID", "NAME", "FOR", "ROLE", "LOCAL", "PEER", "PATH"])
        one, other = one.split(), other.split()
        path = probes.expected_path() + ("" if probes.grpc().has_event_engines else "+calls")
        self.assertEqual((one[0], one[2:4], one[6]), (str(client.pid), ["grpc", "client"], path))
        self.assertEqual((other[0], other[2:4], other[6]), (str(server.pid), ["grpc", "server"], path))
        self.assertEqual(one[4:6], other[5:3:-1], "the same connection, seen from its two ends")

    def test_why_not_something_better(self):
        server = self.server(transport=probes.Transport.TCP)
        client = self.client(server.address)
        self.assert_calls_succeed(client, count=1)
        result = paths(client.pid)
        self.assertRegex(result.stdout.splitlines()[1], r"tcp .*the peer|tcp .*Skein")
        refused = paths(server.pid)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("has no Skein to ask", refused.stderr)

    def test_a_connection_that_is_over_is_listed_no_more(self):
        server = self.server()
        client = self.client(server.address)
        self.assert_calls_succeed(client, count=1)
        self.assertEqual(len(paths(server.pid).stdout.splitlines()), 2)
        client.close()
        self.assertTrue(await_true(lambda: paths(server.pid).stdout == "no connections\n", 20), paths(server.pid))

    @unittest.skipIf(os.geteuid() != 0, "only root can ask as somebody else")
    def test_another_user_is_told_nothing(self):
        server = self.server()
        client = self.client(server.address)
        self.assert_calls_succeed(client, count=1)
        folder = pathlib.Path(self.scratch())
        folder.chmod(0o755)
        command = shutil.copy(probes.tool("skein"), folder)
        result = paths(server.pid, command=command, user=probes.NOBODY)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertRegex(result.stderr, f"process {server.pid} runs as user 0; ask as that user or as root")

    def test_there_is_no_such_process(self):
        result = paths(2**22 + 1)
        self.assertEqual((result.returncode, result.stderr), (1, "skein paths: there is no process 4194305\n"))

    def test_one_that_does_not_answer_is_named_and_hides_none_of_the_others(self):
        server = self.server()
        client = self.client(server.address)
        self.assert_calls_succeed(client, count=1)
        with client.stopped():
            result, as_json = paths(), paths("--json")
        silent = f"skein paths: process {client.pid} does not answer; is it stopped?\n"
        self.assertEqual((result.returncode, as_json.returncode), (1, 1))
        self.assertIn(silent, result.stderr)
        self.assertIn(silent, as_json.stderr)
        self.assertRegex(result.stdout, rf"(?m)^{server.pid} ")
        listed = {path["process"] for path in json.loads(as_json.stdout)}
        self.assertIn(server.pid, listed)
        self.assertNotIn(client.pid, listed)

    def test_a_wrong_call_is_refused_with_its_reason(self):
        result = paths("first")
        self.assertEqual(result.returncode, 2)
        self.assertIn("'first' is no process number", result.stderr)
        self.assertEqual(paths("--help").returncode, 0)


if __name__ == "__main__":
    unittest.main()
