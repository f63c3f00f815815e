"""Who the peer is, as gRPC tells its users, must not depend on the path."""

import re

from skeintest import kernel, probes
from skeintest.cases import ProcessTest

def form(report):
    """What both ends say of each other, without port numbers."""

    def masked(peer):
        return re.sub(r":\d+$", ":PORT", peer)

    return {
        "server's view of the client": masked(report["identity"]["peer"]),
        "server's authentication context": report["identity"]["auth"],
        "client's view of the server": masked(report["peer"]),
        "client's authentication context": report["auth"],
    }


class Identity(ProcessTest):
    def identity(self, listen, server_flags, client_flags, **options):
        server = self.server([f"--listen={listen}", *server_flags], **options)
        client = self.client(server.address, client_flags, **options)
        report = client.ask("whoami")
        self.assertEqual(report["statuses"], {"OK": 1}, client.log())
        return client, form(report)

    def assert_same_identity(self, listen="127.0.0.1:0", server_flags=(), client_flags=()):
        _, plain = self.identity(listen, server_flags, client_flags, transport=probes.Transport.TCP)
        client, skein = self.identity(listen, server_flags, client_flags)
        self.assertEqual(skein, plain)
        return client

    def test_an_insecure_peer_is_seen_as_over_tcp(self):
        self.assert_path(self.assert_same_identity(), probes.expected_path())

    def test_an_insecure_peer_over_ipv6_is_seen_as_over_tcp(self):
        if not kernel.has_ipv6():
            self.skipTest("this machine has no ::1")
        self.assert_path(self.assert_same_identity("[::1]:0"), probes.expected_path())

    def test_a_peer_over_a_unix_socket_is_seen_as_without_skein(self):
        self.assert_same_identity(f"unix:{self.scratch()}/server")

    def test_a_peer_with_tls_is_seen_as_over_tcp(self):
        certificate, key = self.certificate()
        client = self.assert_same_identity(
            server_flags=[f"--tls_cert={certificate}", f"--tls_key={key}"], client_flags=[f"--tls_ca={certificate}"]
        )
        self.assert_path(client, probes.expected_path())

    def test_tls_carries_small_and_large_messages(self):
        certificate, key = self.certificate()
        server = self.server([f"--tls_cert={certificate}", f"--tls_key={key}"])
        client = self.client(server.address, [f"--tls_ca={certificate}"])
        self.assert_calls_succeed(client, count=200, size=100)
        self.assert_calls_succeed(client, count=10, size=4_000_000)
        self.assert_path(client, probes.expected_path())
        self.assert_path(server, probes.expected_path())

    def test_tls_refuses_a_stranger_as_over_tcp(self):
        certificate, key = self.certificate()
        other_certificate, _ = self.certificate()
        server = self.server([f"--tls_cert={certificate}", f"--tls_key={key}"])
        client = self.unopened_client(server.address, [f"--tls_ca={other_certificate}"])
        client.ask("open", 1, 0)
        self.assertEqual(client.ask("call", 1, 100)["statuses"], {"UNAVAILABLE": 1}, client.log())
