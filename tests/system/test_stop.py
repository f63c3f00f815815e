"""One end is stopped, as by a debugger, a cgroup's freezer or a machine asleep: it is neither dead nor answering."""

import socket
import struct

from skeintest import kernel, probes
from skeintest.cases import ProcessTest
from skeintest.kernel import held

KEEPALIVE = {
    "grpc.keepalive_time_ms": 500,
    "grpc.keepalive_timeout_ms": 500,
    "grpc.keepalive_permit_without_calls": 1,
    "grpc.http2.max_pings_without_data": 0,
}
PINGS_ALLOWED = {"grpc.http2.min_ping_interval_without_data_ms": 100, "grpc.keepalive_permit_without_calls": 1}


class Stop(ProcessTest):
    def stop(self, program):
        self.addCleanup(program.go_on)  # before it is closed
        program.freeze()

    def connection(self, client):
        """Changes with every new connection: the port the server sees the client at."""
        report = client.ask("whoami")
        self.assertEqual(report["statuses"], {"OK": 1}, client.log())
        return report["identity"]["peer"]

    def test_a_server_that_is_slow_to_answer_the_offer_is_reached_all_the_same(self):
        server = self.server()
        client = self.unopened_client(server.address, env={"SKEIN_NEGOTIATION_TIMEOUT": "100"})
        self.stop(server)
        client.send("open", 1, 10000)
        if probes.expected_path() != "tcp":
            self.assertTrue(kernel.await_true(lambda: client.path() == "tcp: no answer in time", 20), client.log())
        server.go_on()
        self.assertFalse(client.receive()["timed_out"], client.log())
        self.assert_calls_succeed(client)

    @probes.not_with_event_engines("over TCP, too, gRPC 1.83 does not give such a server up within a minute")
    def test_keepalive_gives_a_stopped_server_up_and_the_client_recovers(self):
        server, client = self.pair(arguments=KEEPALIVE, server_arguments=PINGS_ALLOWED)
        before = self.connection(client)
        self.assertFalse(client.ask("hold")["timed_out"], client.log())
        client.send("join")
        self.stop(server)
        report = client.receive(seconds=20)
        self.assertEqual(report["statuses"], {"UNAVAILABLE": 1}, report["message"])
        # gRPC ends the calls first, the connection once what it writes is out, and with it a call begun in between.
        self.assertFalse(client.ask("wait_state", "IDLE", 10000)["timed_out"], client.log())
        server.go_on()
        self.assert_waiting_call_succeeds(client)
        self.assertNotEqual(self.connection(client), before)
        self.assert_path(client, probes.expected_path())
        self.assertEqual(server.ask("holds", 0)["holds"], 0, "the call that was given up is still open")

    def test_a_short_stop_only_delays(self):
        server, client = self.pair()
        before = self.connection(client)
        for stopped in (server, client):
            with self.subTest(stopped="server" if stopped is server else "client"):
                self.stop(stopped)
                client.send("call", 1, 1000)
                stopped.go_on()
                self.assertEqual(client.receive()["statuses"], {"OK": 1}, client.log())
                self.assertEqual(self.connection(client), before)
        self.assert_path(client, probes.expected_path())

    def test_calls_to_a_stopped_server_end_at_their_deadlines(self):
        server, client = self.pair()
        before = self.connection(client)
        self.assertEqual(client.ask("parallel", 4, 30, 1 << 20)["statuses"], {"OK": 120})  # gRPC opens its windows
        self.stop(server)
        client.send("parallel", 4, 1, 1 << 20, 1000)  # more than there is room for
        self.assertEqual(client.receive(seconds=10)["statuses"], {"DEADLINE_EXCEEDED": 4}, client.log())
        server.go_on()
        self.assert_calls_succeed(client)
        self.assertEqual(self.connection(client), before)

    def test_a_client_does_not_spin_for_a_stopped_server_and_loses_nothing(self):
        server, client = self.pair()
        before = self.connection(client)
        client.send("parallel", 4, 60, 1 << 20)  # far more than any window: writers must wait for room
        used = kernel.cpu_ticks(server.pid)
        self.assertTrue(kernel.await_true(lambda: kernel.cpu_ticks(server.pid) > used, 10))
        self.stop(server)
        self.assertTrue(
            kernel.await_true(lambda: kernel.cpu_ticks_within(client.pid, 1.0) <= 2, 20),
            f"ticks by thread, within a second: {kernel.thread_ticks_within(client.pid, 1.0)}",
        )
        server.go_on()
        report = client.receive(seconds=40)
        self.assertEqual(report["statuses"], {"OK": 240}, report["message"])
        self.assertEqual(self.connection(client), before)

    def test_a_server_lets_go_of_connections_that_were_reset_while_it_slept(self):
        """The kernel tells the server of the first bytes and of the reset at once."""
        certificate, key = self.certificate()
        for name, flags in {"insecure": [], "tls": [f"--tls_cert={certificate}", f"--tls_key={key}"]}.items():
            server = self.server(flags)
            port = int(server.address.rsplit(":", 1)[1])
            self.assert_calls_succeed(self.client(server.address, [f"--tls_ca={certificate}"] if flags else []))
            baseline = held(server.pid)
            # Of TLS, of HTTP/2, of an offer: each too short to be refused.
            for opening in (b"\x16", b"P", b"PRI ", b"\xa5"):
                with self.subTest(server=name, opening=opening):
                    self.stop(server)
                    with socket.create_connection(("127.0.0.1", port)) as connection:
                        connection.sendall(opening)
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    server.go_on()
                    self.assert_holdings_return_to(baseline, server, "descriptors")
