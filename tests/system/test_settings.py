"""What a user sets: the modes do what they say, and a mistake is told in words, never by a crash or in silence."""

from skeintest import probes
from skeintest.cases import ProcessTest
from skeintest.kernel import held

MODES = "off | prefer | require"
RING_BYTES = "65536 .. 1073741824"


class SettingsTest(ProcessTest):
    def assert_unavailable(self, client, *words):
        """That calls fail so, with these words in the message; twice, for the process must live on."""
        for _ in range(2):
            report = client.ask("call", 1, 100)
            self.assertEqual(report["statuses"], {"UNAVAILABLE": 1}, client.log())
            for word in words:
                self.assertIn(word, report["message"])

    def failing_client(self, target, **options):
        client = self.unopened_client(target, **options)
        self.assertTrue(client.ask("open", 1, 500)["timed_out"], client.log())
        return client


class Require(SettingsTest):
    def test_two_ends_that_require_skein_use_it(self):
        server = self.server(mode="require")
        client = self.client(server.address, mode="require")
        self.assert_calls_succeed(client)
        self.assert_path(client, "shm")

    def test_client_refuses_a_plain_server_and_says_why(self):
        server = self.server(transport=probes.Transport.TCP)
        client = self.failing_client(server.address, mode="require")
        self.assert_unavailable(client, "peer does not speak Skein")

    def test_client_refuses_a_plain_tls_server_and_says_why(self):
        certificate, key = self.certificate()
        server = self.server([f"--tls_cert={certificate}", f"--tls_key={key}"], transport=probes.Transport.TCP)
        client = self.failing_client(server.address, flags=[f"--tls_ca={certificate}"], mode="require")
        self.assert_unavailable(client, "peer")  # does not, or lately did not, speak Skein

    def test_client_connects_once_the_server_learns_skein(self):
        server = self.server(transport=probes.Transport.TCP)
        client = self.failing_client(server.address, mode="require")
        server.kill()
        self.server([f"--listen={server.address}"])
        self.assert_waiting_call_succeeds(client)
        self.assert_path(client, "shm")

    def test_server_refuses_a_plain_client_and_serves_on(self):
        server = self.server(mode="require")
        plain = self.failing_client(server.address, transport=probes.Transport.TCP)
        self.assert_unavailable(plain)
        client = self.client(server.address)
        self.assert_calls_succeed(client)
        self.assert_path(client, "shm")


class Off(SettingsTest):
    def test_off_is_plain_tcp(self):
        server = self.server()
        client = self.client(server.address, mode="off")
        self.assert_calls_succeed(client)
        self.assert_path(client, "tcp")
        holds = held(client.pid)
        self.assertEqual((holds["memfds"], holds["mappings"]), (0, 0))

    def test_two_ends_that_are_off_share_no_memory(self):
        server = self.server(mode="off")
        client = self.client(server.address, mode="off")
        self.assert_calls_succeed(client)
        for program in (server, client):
            self.assert_path(program, "tcp")
            holds = held(program.pid)
            self.assertEqual((holds["memfds"], holds["mappings"]), (0, 0))


    def test_nothing_is_a_mistake(self):
        wrong = {"SKEIN_RNIG_BYTES": "65536", "SKEIN_EXPORTER_PORT": "tcp://10.0.0.1:80", "SKEIN_RING_BYTES": "7"}
        server = self.server(mode="off", env=wrong)
        client = self.client(server.address, mode="off", env=wrong)
        self.assert_calls_succeed(client)
        self.assert_path(client, "tcp")


class Mistakes(SettingsTest):
    def test_a_mistyped_mode_is_an_error(self):
        client = self.failing_client(self.server().address, arguments={"skein.mode": "prefre"})
        self.assert_unavailable(client, "skein.mode", "prefre", MODES)

    @probes.not_with_event_engines("an EventEngine is not told which arguments a channel has")
    def test_an_unknown_channel_argument_fails_calls_and_names_the_right_one(self):
        client = self.failing_client(self.server().address, arguments={"skein.rnig_bytes": 65536})
        self.assert_unavailable(client, "rnig_bytes", "did you mean", "ring_bytes")

    def test_a_channel_argument_out_of_bounds_fails_calls_and_names_the_bounds(self):
        client = self.failing_client(self.server().address, arguments={"skein.ring_bytes": 7})
        self.assert_unavailable(client, "ring_bytes", RING_BYTES)

    def test_a_channel_argument_of_the_wrong_type_fails_calls_and_says_so(self):
        client = self.failing_client(self.server().address, arguments={"skein.mode": 1})
        self.assert_unavailable(client, "skein.mode", MODES)

    def test_a_mistyped_mode_in_the_environment_fails_calls_and_names_the_modes(self):
        # In code the channel argument says the mode as well; the environment's mistake must not hide behind it.
        client = self.failing_client(self.server().address, env={"SKEIN_GRPC": "prefre"})
        self.assert_unavailable(client, "SKEIN_GRPC", "prefre", MODES)

    def test_a_variable_out_of_bounds_fails_calls_and_names_the_bounds(self):
        client = self.failing_client(self.server().address, env={"SKEIN_RING_BYTES": "7"})
        self.assert_unavailable(client, "SKEIN_RING_BYTES", RING_BYTES)

    def test_unknown_variables_are_a_warning_said_once(self):
        unknown = {
            "SKEIN_RNIG_BYTES": "65536",
            "SKEIN_EXPORTER_SERVICE_HOST": "10.0.0.1",
            "SKEIN_RDMA_PORT": "tcp://10.0.0.1:80",  # Kubernetes', of a service called skein-rdma
        }
        server = self.server(env=unknown)
        client = self.client(server.address, channels=2, env=unknown)
        self.assertEqual(client.ask("each", 1000)["statuses"], {"OK": 2}, client.log())
        self.assert_path(client, "shm")
        for program in (server, client):
            self.assertEqual(program.log().count("SKEIN_EXPORTER_SERVICE_HOST"), 1, program.log())
            self.assertIn("SKEIN_RNIG_BYTES (did you mean SKEIN_RING_BYTES?)", program.log())
            self.assertIn("SKEIN_RDMA_PORT", program.log())

    def test_a_mistake_at_the_server_fails_its_connections(self):
        for how in ({"arguments": {"skein.mode": "prefre"}}, {"env": {"SKEIN_RING_BYTES": "7"}}):
            with self.subTest(how=how):
                server = self.server(**how)
                for transport in (None, probes.Transport.TCP):
                    self.assert_unavailable(self.failing_client(server.address, transport=transport))
                self.assertFalse(server.ended(), server.log())
                self.assertRegex(server.log(), "skein: .*(off \\| prefer \\| require|65536 \\.\\. 1073741824)")


class PollStrategy(SettingsTest):
    @probes.not_with_event_engines("there are no polling engines")
    def test_an_unknown_polling_engine_stays_on_tcp(self):
        poll = {"GRPC_POLL_STRATEGY": "poll"}
        for name, at_server, at_client in (("client", {}, poll), ("server", poll, {}), ("both", poll, poll)):
            with self.subTest(poll=name):
                server = self.server(env=at_server)
                client = self.client(server.address, env=at_client)
                self.assert_calls_succeed(client, count=20, size=100_000)
                self.assert_path(client, "tcp")
                if at_client:
                    self.assert_path(client, "tcp: unknown polling engine")
                if at_server:
                    self.assert_path(server, "tcp: unknown polling engine")
