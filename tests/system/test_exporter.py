"""skein exporter: what Prometheus gets of programs that know nothing of it."""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import unittest
import urllib.error
import urllib.request

from two_libraries import TwoLibraries
from prometheus_client.parser import text_string_to_metric_families
from skeintest import probes
from skeintest.cases import ProcessTest
from skeintest.kernel import await_true

class Scrape:
    """The samples of a text, and that it is a valid one."""

    def __init__(self, test, text):
        families = [family for family in text_string_to_metric_families(text) if family.name.startswith("skein_")]
        test.assertEqual(len(families), len({family.name for family in families}), "each family once")
        self.samples = [sample for family in families for sample in family.samples]
        series = [(sample.name, tuple(sorted(sample.labels.items()))) for sample in self.samples]
        test.assertEqual(len(series), len(set(series)), "each series once")

    def of(self, name, **labels):
        return [sample for sample in self.samples
                if sample.name == name and labels.items() <= sample.labels.items()]  # fmt: skip

    def up(self):
        return {int(sample.labels["process"]): sample.value for sample in self.of("skein_up")}


@contextlib.contextmanager
def called(name):
    """This process under another name."""
    file = pathlib.Path(f"/proc/{os.getpid()}/comm")
    before = file.read_bytes()
    file.write_bytes(name)
    try:
        yield
    finally:
        file.write_bytes(before)


class Exporter(ProcessTest):
    def exporter(self, *arguments, user=None, program=None):
        """The process and the URL that it prints once it is ready."""
        words = [program or probes.tool("skein"), "exporter", "--listen=127.0.0.1:0", *arguments]
        exporter = self.child(words, user=user)
        url = exporter.line()
        self.assertRegex(url, r"^http://127\.0\.0\.1:\d+/metrics$")
        return exporter, url

    def scrape(self, url):
        with urllib.request.urlopen(url, timeout=30) as answer:
            self.assertTrue(answer.headers["Content-Type"].startswith("text/plain"))
            return Scrape(self, answer.read().decode("ascii"))

    def pair_that_traces(self):
        server = self.server()
        client = self.client(server.address, env={"SKEIN_TRACE": "1"})
        self.assert_calls_succeed(client)
        return server, client

    def test_each_process_is_asked_when_it_is_scraped(self):
        server, client = self.pair_that_traces()
        _, url = self.exporter(server.pid, client.pid)
        self.assertTrue(await_true(lambda: self.scrape(url).of("skein_call_seconds_count"), 10))
        before = self.scrape(url)
        self.assertEqual(before.up(), {server.pid: 1, client.pid: 1})
        self.assert_calls_succeed(client, count=100)
        after = self.scrape(url)
        for program in (server, client):
            labels = {"process": str(program.pid), "path": "shm", "library": "0"}
            (sent,), (more,) = (scrape.of("skein_messages_sent_total", **labels) for scrape in (before, after))
            self.assertGreaterEqual(more.value, sent.value + 100)
            self.assertEqual(sent.labels["program"], pathlib.Path(f"/proc/{program.pid}/comm").read_text().strip())
        counts = after.of("skein_call_seconds_count", process=str(client.pid), side="client")
        self.assertEqual(len(after.of("skein_call_seconds", process=str(client.pid), side="client")), 4 * len(counts))

    def test_without_numbers_all_that_have_skein_are_asked(self):
        _, url = self.exporter()
        server, client = self.pair_that_traces()
        up = self.scrape(url).up()
        self.assertEqual((up[server.pid], up[client.pid]), (1, 1))
        self.assertNotIn(os.getpid(), up)
        client.close()
        self.assertNotIn(client.pid, self.scrape(url).up())

    def test_a_process_that_does_not_answer_fails_no_scrape(self):
        server, client = self.pair_that_traces()
        for arguments in ((), (server.pid, client.pid)):
            _, url = self.exporter(*arguments)
            server.freeze()
            scrape = self.scrape(url)
            server.go_on()
            up = scrape.up()
            self.assertEqual((up[server.pid], up[client.pid]), (0, 1))
            self.assertFalse(scrape.of("skein_messages_sent_total", process=str(server.pid)))
            self.assertTrue(scrape.of("skein_messages_sent_total", process=str(client.pid)))

    def test_it_ends_with_the_last_of_those_that_were_named(self):
        server, client = self.pair_that_traces()
        exporter, url = self.exporter(server.pid, client.pid)
        client.kill()
        self.assertEqual(self.scrape(url).up(), {server.pid: 1})
        server.kill()
        self.assertEqual(exporter.wait(), 0)
        self.assertEqual(exporter.log(), "skein exporter: the processes have ended\n")

    def test_it_ends_when_it_is_told(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            exporter, url = self.exporter()
            self.scrape(url)
            self.assertEqual((exporter.stop(number=number), exporter.log()), (0, ""))
            with self.assertRaises(urllib.error.URLError):
                self.scrape(url)

    def test_two_libraries_in_a_process_of_any_name(self):
        server, client = self.pair_that_traces()
        both = TwoLibraries([server.pid, client.pid])
        self.addCleanup(both.close)
        with called(b'a"\\\xff'):
            _, url = self.exporter(os.getpid())
            scrape = self.scrape(url)
            sent = scrape.of("skein_messages_sent_total", process=str(os.getpid()), path="shm")
        self.assertEqual([sample.labels["library"] for sample in sent], ["0", "1"])
        self.assertEqual({sample.labels["program"] for sample in sent}, {'a\\"\\\\\\xff'})
        printed = Scrape(self, probes.skein("metrics", os.getpid()).stdout)
        self.assertEqual({sample.labels["library"] for sample in printed.of("skein_wake_ups_total")}, {"0", "1"})

    @unittest.skipIf(os.geteuid() != 0, "only root can ask as somebody else")
    def test_another_users_processes_are_not_shown(self):
        server, _ = self.pair_that_traces()
        folder = self.scratch()
        folder.chmod(0o755)
        program = shutil.copy(probes.tool("skein"), folder)
        _, url = self.exporter(user=probes.NOBODY, program=program)
        self.assertNotIn(server.pid, self.scrape(url).up())
        refused = probes.skein("exporter", server.pid, command=program, user=probes.NOBODY)
        self.assertEqual(refused.returncode, 1)
        self.assertIn(f"process {server.pid} runs as user 0", refused.stderr)

    def test_why_it_does_not_begin(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            for arguments, status, why in (
                ([f"--listen={address}"], 1, f"cannot listen on {address}: Address already in use"),
                (["--listen=192.0.2.1:80"], 1, "cannot listen on 192.0.2.1:80: Cannot assign requested address"),
                (["--listen=[::1]:0"], 1, "only on addresses of IPv4"),
                (["--listen=7534"], 2, "'7534' is not HOST:PORT"),
                (["--listen=127.0.0.1:65536"], 2, "is not HOST:PORT"),
                (["--lisen=127.0.0.1:0"], 2, "unknown option '--lisen'; did you mean --listen?"),
                (["first"], 2, "'first' is no process number"),
                ([2**22 + 1], 1, "there is no process 4194305"),
            ):
                result = probes.skein("exporter", *arguments)
                self.assertEqual((result.returncode, result.stdout), (status, ""), arguments)
                self.assertIn(f"skein exporter: {why}" if status == 1 and "IPv4" not in why else why, result.stderr)
                self.assertEqual("Usage: skein exporter" in result.stderr, status == 2)
        self.assertEqual(probes.skein("exporter", "--help").returncode, 0)
