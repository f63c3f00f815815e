"""One end dies without a word: the other must learn it at once, in gRPC's words, and nothing may be left behind."""

from skeintest import kernel, probes
from skeintest.cases import ProcessTest
from skeintest.kernel import held

class ServerDeath(ProcessTest):
    def restart(self, address, **options):
        return self.server([f"--listen={address}"], **options)

    def test_killed_server_fails_its_calls_as_unavailable_and_the_client_recovers(self):
        server, client = self.pair()
        address = server.address
        for round_number in range(10):
            with self.subTest(round=round_number):
                self.assert_path(client, probes.expected_path())
                self.assertFalse(client.ask("hold")["timed_out"], client.log())
                client.send("join")
                server.kill()
                report = client.receive()  # before the call's deadline
                self.assertEqual(report["statuses"], {"UNAVAILABLE": 1}, report["message"])
                server = self.restart(address)
                self.assert_waiting_call_succeeds(client)
        self.assert_path(client, probes.expected_path())
        self.assert_path(server, probes.expected_path())

    def test_a_client_whose_calls_fail_at_once_comes_back_over_the_path(self):
        """While there is no connection none of its threads polls, but gRPC's own each 5 s. Neither end must have gone on without
        Skein by then."""
        impatient = {"skein.negotiation_timeout": 10}
        server = self.server(arguments=impatient)
        client = self.client(server.address)
        self.assert_calls_succeed(client)
        server.kill()
        for _ in range(2):  # by the connection that was, and by the one that cannot be made
            self.assertEqual(client.ask("call", 1, 64)["statuses"], {"UNAVAILABLE": 1})
        server = self.restart(server.address, arguments=impatient)
        self.assertTrue(kernel.await_true(lambda: "OK" in client.ask("call", 1, 64)["statuses"], 60), client.log())
        self.assert_path(client, probes.expected_path())
        self.assert_path(server, probes.expected_path())

    def test_killed_under_load_every_call_is_answered_or_unavailable(self):
        server, client = self.pair()
        for size in (1000, 1 << 20):
            with self.subTest(size=size):
                client.ask("load", 4, size)
                used = kernel.cpu_ticks(server.pid)
                self.assertTrue(kernel.await_true(lambda: kernel.cpu_ticks(server.pid) > used + 3, 10))
                server.kill()
                # Ends when each caller has been answered.
                report = client.ask("unload", "UNAVAILABLE", seconds=90)
                self.assertEqual(set(report["statuses"]), {"OK", "UNAVAILABLE"}, report["message"])
                server = self.restart(server.address)
                self.assert_waiting_call_succeeds(client)


class ClientDeath(ProcessTest):
    def test_killed_client_leaves_nothing_in_the_server(self):
        server = self.server()
        with_client = self.client(server.address)  # one that stays: what the first connection costs is not a leak
        self.assert_calls_succeed(with_client)
        baseline = held(server.pid)
        for round_number in range(10):
            with self.subTest(round=round_number):
                client = self.client(server.address, channels=4)
                self.assertEqual(client.ask("each", 1 << 20)["statuses"], {"OK": 4}, client.log())
                self.assert_path(client, probes.expected_path())
                self.assertFalse(client.ask("hold")["timed_out"])
                self.assertEqual(server.ask("holds", 1)["holds"], 1)
                client.kill()
                self.assertEqual(server.ask("holds", 0)["holds"], 0, "the call of a dead client is still open")
        self.assertTrue(
            kernel.await_true(lambda: self.back_to(baseline, held(server.pid)), 20),
            f"before {baseline}\nafter  {held(server.pid)}",
        )
        self.assert_calls_succeed(with_client)

    def back_to(self, baseline, now):
        # gRPC's server grows its thread pool as load asks: threads are bounded elsewhere, by test_churn.
        return all(now[what] <= baseline[what] for what in ("descriptors", "memfds", "mappings"))
