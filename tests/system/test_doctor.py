"""skein doctor: what it says of this machine, of servers of all kinds, and of how it was called."""

import contextlib
import pathlib
import re
import socket
import subprocess
import tempfile
import threading
import unittest

from skeintest import kernel, probes
from skeintest.cases import ProcessTest
from skeintest.child import clean_environment
from skeintest.kernel import held

FINDING = re.compile(r"(ok {4}|warn {2}|FAIL {2})\S.*\n(?: {6}-> .*\n)?")


def doctor(*arguments, env=None, prefix=()):
    environment = {**clean_environment("GRPC_"), **(env or {})}
    return subprocess.run(
        [*prefix, probes.tool("skein"), "doctor", *arguments], env=environment, capture_output=True, text=True, timeout=60
    )


def line_with(output, words):
    """The one finding that has these words, with its advice."""
    found = [match.group() for match in FINDING.finditer(output) if words in match.group()]
    if len(found) != 1:
        raise AssertionError(f"{len(found)} findings with {words!r} in:\n{output}")
    return found[0]


class ThisMachine(unittest.TestCase):
    def test_nothing_fails_and_each_line_is_a_finding(self):
        result = doctor()
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual(FINDING.sub("", result.stdout), "")
        self.assertEqual(result.stderr, "")

    def test_shared_memory_is_tried_out(self):
        finding = line_with(doctor().stdout, "self-test of shm")
        self.assertRegex(finding, r"^ok .*a message arrived and woke its reader")

    def test_a_rendezvous_directory_that_cannot_be_used_fails_the_trial(self):
        result = doctor(env={"SKEIN_RENDEZVOUS": "/nonexistent"})
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertRegex(line_with(result.stdout, "self-test of shm"), "^FAIL .*skein.rendezvous: .*/nonexistent")

    def test_shared_memory_of_a_user_without_a_number_is_not_tried_out(self):
        nobody = ["unshare", "--user"]
        if subprocess.run([*nobody, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no user namespace may be made here")
        finding = line_with(doctor(prefix=nobody).stdout, "self-test of shm")
        self.assertRegex(finding, r"^warn .*not tried: .*the number of all")

    @unittest.skipIf(pathlib.Path("/sys/class/infiniband_verbs").exists(), "this machine has RDMA")
    def test_no_rdma_is_a_warning(self):
        output = doctor().stdout
        self.assertRegex(line_with(output, "kernel modules of RDMA"), "^warn ")
        self.assertRegex(output, "warn  (no RDMA device|RDMA is off)")

    def test_no_rdma_library_is_a_warning(self):
        result = doctor(env=self.with_library("libibverbs.so.1"))
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertRegex(line_with(result.stdout, "RDMA is off"), "^warn .*libibverbs.*install rdma-core")

    def with_library(self, name, source=None):
        """An environment where the library `name` is a copy of `source`, or an empty file, at which dlopen gives up."""
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        library = pathlib.Path(scratch.name) / name
        library.write_bytes(source.read_bytes() if source else b"")
        return {"LD_LIBRARY_PATH": scratch.name}

    def test_another_grpc_fails(self):
        result = doctor(env=self.with_library(f"libgrpc.so.{probes.grpc().major}", probes.binary("libother_grpc.so")))
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertRegex(line_with(result.stdout, "libgrpc"), rf"^FAIL .*30\.1\.0(.|\n)*{probes.grpc().version}")

    def test_a_container_is_told_what_it_needs(self):
        finding = line_with(doctor(env={"KUBERNETES_SERVICE_HOST": "10.0.0.1"}).stdout, "looks like a container")
        for word in ("--network", "of one user", "/dev/infiniband"):
            self.assertIn(word, finding)

    def test_grpc_is_the_one_skein_was_built_for(self):
        self.assertRegex(line_with(doctor().stdout, "libgrpc"), rf"^ok .*{probes.grpc().version}")

    def test_little_locked_memory_is_a_warning_with_all_ways_to_raise_it(self):
        result = doctor(prefix=["prlimit", "--memlock=65536:65536"])
        finding = line_with(result.stdout, "locked memory")
        self.assertTrue(finding.startswith("warn  locked memory: up to 64 KiB"), finding)
        for way in ("ulimit -l", "LimitMEMLOCK=", "--ulimit memlock"):
            self.assertIn(way, finding)


class Options(unittest.TestCase):
    def test_a_wrong_one_fails(self):
        result = doctor(env={"SKEIN_RING_BYTES": "7"})
        self.assertEqual(result.returncode, 1)
        self.assertIn("65536 .. 1073741824", line_with(result.stdout, "SKEIN_RING_BYTES"))

    def test_a_wrong_mode_of_thrift_fails_and_hides_nothing_else(self):
        result = doctor(env={"SKEIN_THRIFT": "prefre", "SKEIN_GRPC": "prefer"})
        self.assertEqual(result.returncode, 1)
        finding = line_with(result.stdout, "SKEIN_THRIFT")
        self.assertRegex(finding, r'^FAIL  SKEIN_THRIFT is "prefre", .*off \| prefer \| require\n.*Thrift')
        self.assertTrue(line_with(result.stdout, "SKEIN_GRPC").startswith("ok    SKEIN_GRPC is prefer\n"))
        result = doctor(env={"SKEIN_THRIFT": "require", "SKEIN_RING_BYTES": "7"})
        self.assertEqual(line_with(result.stdout, "SKEIN_THRIFT"), "ok    SKEIN_THRIFT is require\n")
        self.assertTrue(line_with(result.stdout, "SKEIN_RING_BYTES").startswith("FAIL "))

    def test_an_unknown_one_is_a_warning(self):
        result = doctor(env={"SKEIN_RNIG_BYTES": "65536"})
        self.assertEqual(result.returncode, 0, result.stdout)
        finding = line_with(result.stdout, "SKEIN_RNIG_BYTES")
        self.assertTrue(finding.startswith("warn "), finding)
        self.assertIn("did you mean SKEIN_RING_BYTES", finding)

    def test_shared_memory_switched_off_is_not_tried_out(self):
        result = doctor(env={"SKEIN_SHM": "off"})
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("SKEIN_SHM", line_with(result.stdout, "shared memory is switched off"))
        self.assertNotIn("self-test of shm", result.stdout)

    def test_an_unknown_polling_engine_is_a_warning(self):
        finding = line_with(doctor(env={"GRPC_POLL_STRATEGY": "poll"}).stdout, "GRPC_POLL_STRATEGY")
        self.assertTrue(finding.startswith("warn "), finding)


class Servers(ProcessTest):
    def ask(self, address, *options, env=None, status=0):
        """The finding about the path to `address`."""
        result = doctor(*options, address, env=env)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return line_with(result.stdout, address)

    def assert_undisturbed(self, server, held):
        self.assert_holdings_return_to(held, server, "descriptors memfds mappings")
        self.assertNotRegex(server.log(), r"(?m)^E\d{4} ")
        client = self.client(server.address)
        self.assert_calls_succeed(client)
        client.close()
        self.assert_holdings_return_to(held, server, "descriptors memfds mappings")

    def warm(self, server):
        """What the server holds once it has had a client."""
        client = self.client(server.address)
        self.assert_calls_succeed(client)
        client.close()
        kernel.await_true(lambda: held(server.pid)["memfds"] == 0, 5)
        return held(server.pid)

    def assert_asked_often(self, server, expected, *options):
        held = self.warm(server)
        for _ in range(20):
            self.assertRegex(self.ask(server.address, *options), expected)
        self.assert_undisturbed(server, held)

    def tls_server(self, **options):
        certificate, key = self.certificate()
        return self.server([f"--tls_cert={certificate}", f"--tls_key={key}"], **options)

    def test_a_skein_server_is_found_over_shared_memory(self):
        self.assert_asked_often(self.server(), r"^ok .*path shm\n")

    def test_a_skein_server_that_is_asked_as_tls_is_found(self):
        self.assert_asked_often(self.server(), r"^ok .*path shm\n", "--tls")

    def test_a_skein_server_is_found_by_name_and_ipv6(self):
        port = self.server(["--listen=[::]:0"]).address.rsplit(":", 1)[1]
        for address in (f"localhost:{port}", f"127.0.0.1:{port}", *([f"[::1]:{port}"] if kernel.has_ipv6() else [])):
            self.assertRegex(self.ask(address), r"^ok .*path shm\n")

    def test_a_skein_server_with_tls_is_found_by_a_client_that_speaks_tls(self):
        server = self.tls_server()
        self.assertRegex(self.ask(server.address, "--tls"), r"^ok .*path shm\n")
        self.assertRegex(self.ask(server.address), "^warn .*path tcp: peer does not speak Skein(.|\n)*add --tls")
        self.assertFalse(server.ended())

    def test_a_plain_server_is_a_warning(self):
        server = self.server(transport=probes.Transport.TCP)
        self.assert_asked_often(server, r"^warn .*path tcp: peer does not speak Skein\n")

    def test_a_plain_server_with_tls_is_a_warning(self):
        server = self.tls_server(transport=probes.Transport.TCP)
        self.assertRegex(self.ask(server.address), "^warn .*path tcp: peer does not speak Skein(.|\n)*add --tls")
        self.assertRegex(self.ask(server.address, "--tls"), "^warn .*path tcp: peer does not speak Skein")
        self.assertFalse(server.ended())

    def test_skein_that_is_switched_off_at_the_server_is_a_warning(self):
        self.assertRegex(self.ask(self.server(mode="off").address), "^warn .*path tcp: peer")

    def test_a_path_that_nobody_here_would_use_says_so(self):
        server = self.server()
        self.assertIn("the mode is off here", self.ask(server.address, env={"SKEIN_GRPC": "off"}))
        self.assertNotIn("the mode is off here", self.ask(server.address, env={"SKEIN_GRPC": "prefer"}))

    def test_skein_that_is_switched_off_here_is_a_warning(self):
        finding = self.ask(self.server().address, env={"SKEIN_SHM": "off"})
        self.assertRegex(finding, r"^warn .*path tcp: switched off \(skein\.shm\)")

    def test_a_client_that_requires_skein_fails_over_tcp(self):
        server = self.server(transport=probes.Transport.TCP)
        self.assertIn("calls fail", self.ask(server.address, env={"SKEIN_GRPC": "require"}, status=1))

    def test_a_port_that_nobody_listens_on_fails(self):
        with socket.create_server(("127.0.0.1", 0)) as unused:
            address = f"127.0.0.1:{unused.getsockname()[1]}"
        self.assertRegex(self.ask(address, status=1), "^FAIL .*Connection refused")

    def test_connecting_has_a_limit(self):
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full, contextlib.ExitStack() as waiting:
            for _ in range(4):  # more than the backlog holds: the kernel drops who comes next
                client = waiting.enter_context(socket.socket())
                client.setblocking(False)
                client.connect_ex(full.getsockname())
            finding = self.ask(f"127.0.0.1:{full.getsockname()[1]}", status=1)
        self.assertRegex(finding, "^FAIL .*timed out")

    def test_a_host_that_is_not_there_fails(self):
        self.assertTrue(self.ask("no-such-host.invalid:1", status=1).startswith("FAIL "))

    def test_a_server_that_says_nothing_is_a_warning_in_time(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"127.0.0.1:{silent.getsockname()[1]}"
            finding = self.ask(address, env={"SKEIN_NEGOTIATION_TIMEOUT": "100"})
        self.assertRegex(finding, "^warn .*path tcp: no answer in time")

    def test_nonsense_for_an_answer_is_a_warning(self):
        for answer in (b"SSH-2.0-x\r\n", b"\xa5SKN\x01\x00\x03abc", b"\xa5SKN\x01\xff\xff", b"\xa5S", b""):
            with self.subTest(answer=answer), socket.create_server(("127.0.0.1", 0)) as listening:

                def serve():
                    connection, _ = listening.accept()
                    with connection:
                        connection.recv(4096)
                        connection.sendall(answer)

                thread = threading.Thread(target=serve)
                thread.start()
                finding = self.ask(f"127.0.0.1:{listening.getsockname()[1]}")
                thread.join()
                self.assertTrue(finding.startswith("warn "), finding)


class Programs(unittest.TestCase):
    def finding(self, name, words, status=0, **environment):
        result = doctor(str(probes.binary(f"preloaded/{name}")), env=environment)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return line_with(result.stdout, words)

    def test_one_with_the_right_grpc_is_served(self):
        self.assertRegex(self.finding("core_client", "core_client"), rf"^ok .*libgrpc\.so\.{probes.grpc().major}\n.*skein run")

    def test_one_with_another_grpc_is_a_warning_and_fails_who_requires_skein(self):
        for name, words in (("core_client_unsecure", "libgrpc_unsecure"), ("own_grpc", "of its own inside")):
            with self.subTest(name):
                self.assertRegex(self.finding(name, words), "^warn .*it stays on TCP")
                required = self.finding(name, words, status=1, SKEIN_GRPC="require")
                self.assertRegex(required, "^FAIL .*require cannot be kept")

    def test_a_command_is_looked_for_as_a_shell_does(self):
        self.assertRegex(line_with(doctor("true").stdout, "/true has no gRPC"), "^ok ")


class Usage(unittest.TestCase):
    def assert_refused(self, arguments, words):
        result = doctor(*arguments)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn(words, result.stderr)

    def test_nonsense_is_refused_with_the_form_that_is_right(self):
        for word in "no-such-program-either :1 host: host:port host:0 host:65536 ::1 ::1:1 [::1] http://h:1".split():
            with self.subTest(word=word):
                self.assert_refused([word], "HOST:PORT")

    def test_a_typo_names_what_there_is(self):
        self.assert_refused(["--tsl", "localhost:1"], "--tls")
        self.assert_refused(["localhost:1", "localhost:2"], "localhost:2")
        self.assert_refused(["--tls"], "HOST:PORT")

    def test_help_tells_what_can_be_asked(self):
        result = doctor("--help")
        self.assertEqual(result.returncode, 0)
        self.assertIn("Usage: skein doctor", result.stdout)
