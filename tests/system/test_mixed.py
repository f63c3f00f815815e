"""Skein at one end only: everything works over TCP, and the reason is said."""

import os
import socket

from skeintest import kernel, probes, proxies
from skeintest.cases import ProcessTest

PLAIN = probes.Transport.TCP
NOT_SKEIN = "tcp: peer does not speak Skein"
NO_OFFER = "tcp: peer made no offer"
LATELY_NOT_SKEIN = "tcp: peer lately did not speak Skein"


class MixedTest(ProcessTest):
    def tls(self):
        """Flags of a server and a client."""
        certificate, key = self.certificate()
        return [f"--tls_cert={certificate}", f"--tls_key={key}"], [f"--tls_ca={certificate}"]

    def assert_works(self, client):
        self.assert_calls_succeed(client, count=50, size=100)
        self.assert_calls_succeed(client, count=3, size=3_000_000)


class Mixed(MixedTest):
    def test_a_plain_server_is_called_over_tcp_and_the_reason_said(self):
        server = self.server(transport=PLAIN)
        client = self.client(server.address)
        self.assert_works(client)
        self.assert_path(client, NOT_SKEIN)

    def test_a_plain_server_with_tls_is_called_over_tcp_and_the_reason_said(self):
        server_flags, client_flags = self.tls()
        server = self.server(server_flags, transport=PLAIN)
        client = self.client(server.address, client_flags)
        self.assert_works(client)
        self.assert_path(client, NOT_SKEIN)

    def test_a_plain_client_is_served_over_tcp_and_the_reason_said(self):
        server = self.server()
        client = self.client(server.address, transport=PLAIN)
        self.assert_works(client)
        self.assert_path(server, NO_OFFER)

    def test_a_client_with_nothing_to_offer_calls_over_tcp(self):
        server = self.server()
        client = self.client(server.address, arguments={"skein.shm": "off", "skein.rdma": "off"})
        self.assert_works(client)
        self.assert_path(client, "tcp: switched off")
        self.assert_path(server, NO_OFFER)

    def test_a_plain_client_with_tls_is_served_over_tcp_and_the_reason_said(self):
        server_flags, client_flags = self.tls()
        server = self.server(server_flags)
        client = self.client(server.address, client_flags, transport=PLAIN)
        self.assert_works(client)
        self.assert_path(server, NO_OFFER)

    def test_one_server_serves_both_kinds_at_once(self):
        server = self.server()
        plain, skein = self.client(server.address, transport=PLAIN), self.client(server.address)
        for client in (plain, skein):
            client.send("parallel", 2, 200, 10_000)
        for client in (plain, skein):
            self.assertEqual(client.receive()["statuses"], {"OK": 400}, client.log())
        self.assert_path(skein, probes.expected_path())

    def test_a_server_behind_a_connect_proxy_is_called(self):
        proxy = proxies.ConnectProxy()
        self.addCleanup(proxy.close)
        port = self.server().address.rsplit(":", 1)[1]
        client = self.client(f"localhost:{port}", env={"http_proxy": f"http://127.0.0.1:{proxy.port}", "no_proxy": ""})
        self.assert_works(client)
        self.assertEqual(proxy.connects, 1)
        self.assert_path(client, "tcp: behind a proxy")

    def test_behind_a_proxy_of_tcp_connections_both_ends_use_tcp_and_say_why(self):
        for server_flags, client_flags in (([], []), self.tls()):
            server = self.server(server_flags)
            proxy = proxies.PlainProxy(int(server.address.rsplit(":", 1)[1]))
            self.addCleanup(proxy.close)
            client = self.client(f"127.0.0.1:{proxy.port}", client_flags)
            self.assert_works(client)
            for end in (client, server):
                self.assert_path(end, proxies.PASSED_ON)

    def test_a_server_switched_off_is_like_a_plain_one(self):
        server = self.server(mode="off")
        client = self.client(server.address)
        self.assert_works(client)
        self.assert_path(client, "tcp: peer")  # does not speak Skein, or says that it is off


class NegativeCache(MixedTest):
    """Only TLS servers cost a second connection to find out, so only they are remembered."""

    def second_channel(self, client):
        client.ask("close")
        self.assertFalse(client.ask("open", 1, 10000)["timed_out"], client.log())
        self.assert_calls_succeed(client)

    def test_a_plain_tls_server_is_not_asked_again(self):
        server_flags, client_flags = self.tls()
        server = self.server(server_flags, transport=PLAIN)
        client = self.client(server.address, client_flags)
        self.second_channel(client)
        self.assertEqual([path.split(" (")[0] for path in client.paths()], [NOT_SKEIN, LATELY_NOT_SKEIN])

    def test_without_the_cache_it_is_asked_each_time(self):
        server_flags, client_flags = self.tls()
        server = self.server(server_flags, transport=PLAIN)
        client = self.client(server.address, client_flags, arguments={"skein.negative_cache": 0})
        self.second_channel(client)
        self.assertEqual([path.split(" (")[0] for path in client.paths()], [NOT_SKEIN, NOT_SKEIN])

    def test_a_server_that_learns_skein_is_found_once_the_memory_fades(self):
        server_flags, client_flags = self.tls()
        server = self.server(server_flags, transport=PLAIN)
        client = self.client(server.address, client_flags, arguments={"skein.negative_cache": 300})
        self.assert_path(client, NOT_SKEIN)
        server.kill()
        self.server([f"--listen={server.address}", *server_flags])

        def found():
            self.second_channel(client)
            return client.path() == probes.expected_path()

        self.assertTrue(kernel.await_true(found, 10), client.paths())

    def test_a_server_that_takes_no_connection_is_not_remembered(self):
        """gRPC takes a connection to a UNIX socket for made whose listener has no room for it."""
        server_flags, client_flags = self.tls()
        path = str(self.scratch() / "server")
        with socket.socket(socket.AF_UNIX) as full, socket.socket(socket.AF_UNIX) as waiting:
            full.bind(path)
            full.listen(0)
            waiting.connect(path)
            arguments = {"grpc.ssl_target_name_override": "localhost"}
            client = self.unopened_client(f"unix:{path}", client_flags, arguments=arguments)
            client.ask("open", 1, 0)
            self.assertEqual(client.ask("call", 1, 100)["statuses"], {"UNAVAILABLE": 1}, client.log())
        os.unlink(path)
        self.server([f"--listen=unix:{path}", *server_flags])
        self.assert_waiting_call_succeeds(client)
        self.assert_path(client, probes.expected_path())

    def test_an_insecure_plain_server_is_not_remembered(self):
        server = self.server(transport=PLAIN)
        client = self.client(server.address)
        server.kill()
        self.server([f"--listen={server.address}"])
        self.second_channel(client)
        self.assert_path(client, probes.expected_path())
