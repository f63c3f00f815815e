"""Connections come, rest and go in the ways gRPC means them to."""

from skeintest import kernel, probes
from skeintest.cases import ProcessTest
from skeintest.kernel import held

class Shutdown(ProcessTest):
    def restart(self, server):
        report = server.ask("start")
        self.assertFalse(report["timed_out"], server.log())
        self.assertEqual(report["address"], server.address)

    def test_goaway_idles_the_channel_and_the_restarted_server_is_found_again(self):
        server, client = self.pair()
        for round_number in range(5):
            with self.subTest(round=round_number):
                self.assert_calls_succeed(client)
                server.ask("shutdown")
                self.assertFalse(client.ask("wait_state", "IDLE", 10000)["timed_out"], client.log())
                report = client.ask("call", 1, 100)
                self.assertEqual(report["statuses"], {"UNAVAILABLE": 1}, report["message"])
                self.restart(server)
                self.assert_waiting_call_succeeds(client)
                self.assert_path(client, probes.expected_path())
                self.assert_path(server, probes.expected_path())

    def test_shutdown_waits_for_open_calls_then_cancels_them(self):
        server, client = self.pair()
        self.assertFalse(client.ask("hold")["timed_out"])
        client.send("join")
        server.ask("shutdown")
        report = client.receive()
        self.assertLessEqual(set(report["statuses"]), {"UNAVAILABLE", "CANCELLED"}, report["message"])
        self.assertEqual(server.ask("holds", 0)["holds"], 0)

    def test_no_call_is_lost_when_a_server_shuts_down_under_load(self):
        server, client = self.pair()
        client.send("parallel", 4, 2000, 1000)
        used = kernel.cpu_ticks(server.pid)
        self.assertTrue(kernel.await_true(lambda: kernel.cpu_ticks(server.pid) > used + 3, 10))
        server.ask("shutdown")
        report = client.receive()
        self.assertEqual(sum(report["statuses"].values()), 8000)
        self.assertLessEqual(set(report["statuses"]), {"OK", "UNAVAILABLE", "CANCELLED"}, report["message"])
        self.restart(server)
        self.assert_waiting_call_succeeds(client)
        self.assert_path(client, probes.expected_path())

    def test_a_shut_down_server_holds_nothing_of_its_connections(self):
        server = self.server()
        server.ask("shutdown")
        baseline = held(server.pid)
        for _ in range(3):
            self.restart(server)
            client = self.client(server.address, channels=10)
            self.assertEqual(client.ask("each", 1000)["statuses"], {"OK": 10}, client.log())
            server.ask("shutdown")
            client.close()
        self.assert_holdings_return_to(baseline, server, "memfds mappings")


class AtOnce(ProcessTest):
    def test_connections_made_at_once_all_get_the_path(self):
        server = self.server()
        for _ in range(10):
            client = self.client(server.address, channels=16)
            self.assertEqual(client.ask("each", 100)["statuses"], {"OK": 16}, client.log())
            if probes.expected_path() != "tcp":
                self.assertEqual(client.paths(), [probes.expected_path()] * 16)
            client.close()


class Fork(ProcessTest):
    def test_a_forked_child_ends_and_its_parent_does_not_notice(self):
        server = self.server()
        # What the child has inherited is reached from stacks of threads that it has not: no leak.
        client = self.client(server.address, channels=2, env={"ASAN_OPTIONS": "detect_leaks=0"})
        for _ in range(3):
            self.assertFalse(client.ask("fork")["timed_out"], f"the child did not end well\n{client.log()}")
            self.assertEqual(client.ask("each", 100_000)["statuses"], {"OK": 2}, client.log())
        if probes.expected_path() != "tcp":
            self.assertEqual(client.paths(), [probes.expected_path()] * 2, "the channels have connected again")

    def test_a_process_forked_before_the_first_connection_gets_the_path(self):
        """daemon() after start-up, workers of a server that forks before it serves."""
        for forked in ("server", "client"):
            with self.subTest(forked=forked):
                server = self.server(["--forked"] if forked == "server" else [])
                client = self.client(server.address, ["--forked"] if forked == "client" else [])
                self.assert_calls_succeed(client)
                for program in (server, client):
                    self.assert_path(program, probes.expected_path())


class Rest(ProcessTest):
    def test_an_idle_channel_drops_its_connection_and_comes_back(self):
        server = self.server()
        self.assert_calls_succeed(self.client(server.address))  # what a first connection costs for good
        baseline = held(server.pid)
        client = self.unopened_client(server.address, arguments={"grpc.client_idle_timeout_ms": 1000})
        for round_number in range(3):
            with self.subTest(round=round_number):
                # A new channel each time: this gRPC lets a channel go idle only once in its life.
                self.assertFalse(client.ask("open", 1, 10000)["timed_out"], client.log())
                self.assert_calls_succeed(client)
                self.assert_path(client, probes.expected_path())
                self.assertFalse(client.ask("wait_state", "IDLE", 10000)["timed_out"], client.log())
                self.assert_holdings_return_to(baseline, server, "descriptors memfds mappings")
                connections = len(client.paths())
                self.assert_calls_succeed(client)
                if probes.expected_path() != "tcp":
                    self.assertEqual(client.paths()[connections:], [probes.expected_path()])
                client.ask("close")


class Crowd(ProcessTest):
    CHANNELS = 50
    LINKS = 16  # shm_links
    AT_ONCE = 4  # may be made by threads that have not heard of each other's

    def test_many_channels_each_have_a_path_and_leave_nothing(self):
        server, client = self.pair()
        self.assert_calls_succeed(client)
        one = held(server.pid), held(client.pid)
        report = client.ask("open", self.CHANNELS - 1, 20000)
        self.assertFalse(report["timed_out"], client.log())
        report = client.ask("each", 100_000)
        self.assertEqual(report["statuses"], {"OK": self.CHANNELS}, report["message"])
        if probes.expected_path() != "tcp":
            self.assertEqual(client.paths(), [probes.expected_path()] * self.CHANNELS)
            many = held(server.pid), held(client.pid)
            for end, first, now in zip(("server", "client"), one, many):
                self.assertLessEqual(now["mappings"], (self.LINKS + self.AT_ONCE) * first["mappings"], f"the {end} maps memory per channel")
        client.ask("close")
        self.assertTrue(
            kernel.await_true(lambda: held(server.pid)["descriptors"] <= one[0]["descriptors"], 10),
            f"one channel {one[0]}\nafter all  {held(server.pid)}",
        )
