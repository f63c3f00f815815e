"""Cases of whole processes: what they start is gone when they are."""

import pathlib
import tempfile
import unittest

from skeintest import kernel, loads, probes
from skeintest.certificate import make_certificate
from skeintest.child import Child
from skeintest.probes import Probe

# gRPC's own pools of threads breathe; a thread per connection would show all the same.
SLACK = {"threads": 3}


class ProcessTest(unittest.TestCase):
    """Has programs, folders and certificates that are gone when the test is."""

    def child(self, command, environment=None, **how):
        child = Child(command, environment, **how)
        self.addCleanup(child.close)
        return child

    def server(self, flags=(), **options):
        server = Probe("probe_server", flags, **options)
        self.addCleanup(server.close)
        report = server.ask("start")
        self.assertFalse(report["timed_out"], f"the server did not start:\n{server.log()}")
        server.address = report["address"]
        return server

    def unopened_client(self, target, flags=(), **options):
        client = Probe("probe_client", [f"--target={target}", *flags], **options)
        self.addCleanup(client.close)
        return client

    def client(self, target, flags=(), channels=1, **options):
        """A client whose channels are connected."""
        client = self.unopened_client(target, flags, **options)
        report = client.ask("open", channels, 10000)
        self.assertFalse(report["timed_out"], f"no connection to {target}:\n{client.log()}")
        return client

    def pair(self, **options):
        server = self.server(arguments=options.pop("server_arguments", None))
        return server, self.client(server.address, **options)

    def assert_calls_succeed(self, client, count=3, size=1000):
        self.assertEqual(client.ask("call", count, size)["statuses"], {"OK": count}, client.log())

    def assert_waiting_call_succeeds(self, client):
        """One that waits for a connection."""
        report = client.ask("wait_call", 10000)
        self.assertEqual(report["statuses"], {"OK": 1}, f"{report['message']}\n{client.log()}")

    def assert_path(self, program, path):
        self.assertTrue(program.path().startswith(path), f"{path} expected, got {program.path()}:\n{program.log()}")

    def assert_holdings_return_to(self, baseline, program, fields):
        """That the program soon holds no more than `baseline` of each of the fields."""
        fields = fields.split()

        def returned():
            now = kernel.held(program.pid)
            return all(now[field] <= baseline[field] + SLACK.get(field, 0) for field in fields)

        if not kernel.await_true(returned, 10):
            files = "\n".join([*sorted(kernel.descriptors(program.pid)), *kernel.sockets(program.pid), kernel.waits(program.pid)])
            self.fail(f"{fields}\nbefore {baseline}\nnow    {kernel.held(program.pid)}\n{files}")

    def scratch(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return pathlib.Path(folder.name)

    def certificate(self):
        """(certificate, key) files for localhost, signed by itself."""
        return make_certificate(self.scratch())


class LoadTest(ProcessTest):
    """Has programs of a load over Thrift besides."""

    def start(self, kind, *words, **how):
        program = kind(probes.build(), "thrift", "shm", *words, **how)
        self.addCleanup(program.close)
        return program

    def callers(self, address, **how):
        """Each of their connections is given up for another one after some calls."""
        return self.start(loads.Client, [address], ["--calls_each=50", "--most_bytes=10000", "--deadline=10s"], **how)

    def served(self, client):
        """What calls have come to until some were answered, all of them well."""
        calls = loads.Sum()
        self.assertTrue(kernel.await_true(lambda: calls.add(client.report()[0]), 15), calls.statuses)
        self.assert_fine(calls)
        return calls

    def assert_fine(self, calls):
        self.assertEqual(calls.other_than(loads.FINE), {}, calls.why)
        self.assertEqual(calls.wrong, 0, calls.what)
