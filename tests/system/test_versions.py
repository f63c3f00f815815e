"""An older Skein and a newer one: they agree on what both know, or go on over TCP, and say why. The other version is played
by a proxy that rewrites what this one says; the form that every version keeps to is in core/wire/FORMAT.md."""

from test_paths import paths

from skeintest import loads, proxies
from skeintest.cases import LoadTest, ProcessTest

NEWER_FABRIC = b"\x03cxl" + (5).to_bytes(2, "little") + b"hello"
FABRICS_AT = 2 + 16 + 2  # of an offer
NO_COMMON_VERSION = 4  # core/base/fallback.h


def knows_more(offer):
    """As of a client of versions 1 to 3, which would like best a fabric that no version before 3 has heard of."""
    flags, fabrics = offer[FABRICS_AT - 1] | 0x80, offer[FABRICS_AT] + 1
    head = bytes((1, 3)) + offer[2 : FABRICS_AT - 1] + bytes((flags, fabrics))
    features = b"" if offer[1] == 2 else b"\0"
    return head + NEWER_FABRIC + offer[FABRICS_AT + 1 :] + features + b"and more"


def of_version_1(offer):
    """As of a client, or as read by a server, that knows version 1 alone: without features."""
    assert offer[:2] == bytes((1, 2)), "a client of this version offers features"
    return bytes((1, 1)) + offer[2:-1]


def without_newer_fabric(answer):
    """As told to a client that has offered what knows_more() did not add."""
    return answer[:3] + bytes((answer[3] - 1,)) + answer[4:]


def only_newer(offer):
    return bytes((3, 4)) + offer[2:]


def refused_by_newer(_):
    detail = b"offered 1 to 1, this end has 2"
    return bytes((2, 0, NO_COMMON_VERSION)) + len(detail).to_bytes(2, "little") + detail


def with_older_shm(offer):
    """As of a client whose offers of shared memory are of version 2, which told of the host, its namespaces and the user."""
    shm = offer.index(b"\x03shm", FABRICS_AT) + 4
    size = int.from_bytes(offer[shm : shm + 2], "little")
    older = b"\x02" + bytes(84)
    return offer[:shm] + len(older).to_bytes(2, "little") + older + offer[shm + 2 + size :]


def refused_by_older_shm(_):
    detail = b"shm offer of version 3"
    return bytes((1, 0, NO_COMMON_VERSION)) + len(detail).to_bytes(2, "little") + detail


class Versions(ProcessTest):
    def through(self, tls, **changes):
        """A server, and a client of it whose negotiation is changed so."""
        server_flags, client_flags = [], []
        if tls:
            certificate, key = self.certificate()
            server_flags, client_flags = [f"--tls_cert={certificate}", f"--tls_key={key}"], [f"--tls_ca={certificate}"]
        server = self.server(server_flags)
        proxy = proxies.VersionProxy(int(server.address.rsplit(":", 1)[1]), **changes)
        self.addCleanup(proxy.close)
        client = self.client(f"127.0.0.1:{proxy.port}", client_flags)
        self.assert_calls_succeed(client, count=20, size=10_000)
        self.assertGreater(proxy.changed, 0)
        return server, client

    def test_a_newer_client_agrees_with_this_server_on_what_both_know(self):
        for tls in (False, True):
            with self.subTest(tls=tls):
                server, client = self.through(tls, offer=knows_more, answer=without_newer_fabric)
                self.assert_path(client, "shm")
                self.assert_path(server, "shm")

    def test_calls_of_an_older_client_or_to_an_older_server_travel_by_http2(self):
        server, client = self.through(tls=False, offer=of_version_1)
        self.assertEqual([line.split()[6] for line in paths(client.pid, server.pid).stdout.splitlines()[1:]], ["shm"] * 2)

    def test_a_newer_client_that_has_left_this_version_behind_goes_on_over_tcp(self):
        for tls in (False, True):
            with self.subTest(tls=tls):
                server, client = self.through(tls, offer=only_newer)
                for end in (client, server):
                    self.assert_path(end, "tcp: no common protocol version (offered 3 to 4, this end has 1)")

    def test_a_newer_server_that_has_left_this_version_behind_goes_on_over_tcp(self):
        for tls in (False, True):
            with self.subTest(tls=tls):
                _, client = self.through(tls, offer=only_newer, answer=refused_by_newer)
                self.assert_path(client, "tcp: no common protocol version (offered 1 to 1, this end has 2)")


    def test_shared_memory_of_an_older_client_is_refused_and_tcp_used(self):
        for tls in (False, True):
            with self.subTest(tls=tls):
                server, client = self.through(tls, offer=with_older_shm)
                for end in (client, server):
                    self.assert_path(end, "tcp: no common protocol version (shm offer of version 2)")

    def test_shared_memory_of_an_older_server_is_refused_and_tcp_used(self):
        for tls in (False, True):
            with self.subTest(tls=tls):
                _, client = self.through(tls, offer=with_older_shm, answer=refused_by_older_shm)
                self.assert_path(client, "tcp: no common protocol version (shm offer of version 3)")


class ThriftProxy(LoadTest):
    def test_behind_a_proxy_of_tcp_connections_both_ends_use_tcp_and_say_why(self):
        server = self.start(loads.Server, mode="prefer")
        proxy = proxies.PlainProxy(int(server.address().rsplit(":", 1)[1]))
        self.addCleanup(proxy.close)
        calls = self.served(self.callers(f"127.0.0.1:{proxy.port}", mode="prefer"))
        self.assertEqual(set(calls.paths), {proxies.PASSED_ON})


class ThriftVersions(LoadTest):
    def paths_through(self, **changes):
        """What the calls of a client went over whose negotiation with a server is changed so."""
        server = self.start(loads.Server, mode="prefer")
        proxy = proxies.VersionProxy(int(server.address().rsplit(":", 1)[1]), **changes)
        self.addCleanup(proxy.close)
        client = self.callers(f"127.0.0.1:{proxy.port}", mode="prefer")
        calls = self.served(client)
        self.assertGreater(proxy.changed, 0)
        return set(calls.paths)

    def test_a_newer_client_agrees_with_this_server_on_what_both_know(self):
        taken = self.paths_through(offer=knows_more, answer=without_newer_fabric)
        self.assertEqual(taken, {"shm: no common protocol version (no fabric cxl here)"})

    def test_a_newer_client_that_has_left_this_version_behind_goes_on_over_tcp(self):
        taken = self.paths_through(offer=only_newer)
        self.assertEqual(taken, {"tcp: no common protocol version (offered 3 to 4, this end has 1)"})

    def test_a_newer_server_that_has_left_this_version_behind_goes_on_over_tcp(self):
        taken = self.paths_through(offer=only_newer, answer=refused_by_newer)
        self.assertEqual(taken, {"tcp: no common protocol version (offered 1 to 1, this end has 2)"})
