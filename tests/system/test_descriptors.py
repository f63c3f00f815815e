"""Few descriptors left: calls succeed or say UNAVAILABLE, and after the squeeze the best path is used again."""

from skeintest import kernel, probes
from skeintest.cases import ProcessTest
from skeintest.kernel import held, release_descriptors, squeeze_descriptors

MOST_SPARE = 12


class Descriptors(ProcessTest):
    def assert_answered(self, client, channels):
        report = client.ask("each", 100_000)
        self.assertLessEqual(set(report["statuses"]), {"OK", "UNAVAILABLE"}, report["message"])
        self.assertEqual(sum(report["statuses"].values()), channels)

    def test_a_client_without_descriptors_recovers(self):
        server = self.server()
        for spare in range(MOST_SPARE):
            with self.subTest(spare=spare):
                # One channel stays: without a descriptor for its epoll set, gRPC's own start aborts the process.
                client = self.client(server.address)
                squeeze_descriptors(client.pid, spare)
                client.ask("open", 1, 300)
                self.assert_answered(client, channels=2)
                release_descriptors(client.pid)
                self.assertTrue(
                    kernel.await_true(lambda: client.ask("each", 1000)["statuses"] == {"OK": 2}, 10), client.log()
                )
                self.assertFalse(client.ask("open", 1, 10000)["timed_out"], client.log())
                self.assertEqual(client.ask("each", 1000)["statuses"], {"OK": 3}, client.log())
                self.assert_path(client, probes.expected_path())
                client.close()

    def test_a_server_without_descriptors_recovers(self):
        server = self.server()
        self.assert_calls_succeed(self.client(server.address))
        # One is for the connection, and one must be left when accept() looks for the next: without, this gRPC never
        # accepts again.
        for spare in range(2, MOST_SPARE):
            with self.subTest(spare=spare):
                before = held(server.pid)
                squeeze_descriptors(server.pid, spare)
                client = self.unopened_client(server.address)
                client.ask("open", 1, 2000)
                self.assert_answered(client, channels=1)
                client.close()
                release_descriptors(server.pid)
                after = self.client(server.address)
                self.assert_calls_succeed(after)
                self.assert_path(after, probes.expected_path())
                after.close()
                self.assert_holdings_return_to(before, server, "descriptors memfds mappings")
