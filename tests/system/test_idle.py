"""Open connections without calls cost no processor time: nobody polls for what may never come."""

from skeintest import kernel, probes
from skeintest.cases import ProcessTest

CHANNELS = 100
SECONDS = 3.0
MOST_TICKS = 2  # of 10 ms each: timers and the odd wake-up


class Idle(ProcessTest):
    def assert_idle(self, program, name):
        quiet = kernel.await_true(lambda: kernel.cpu_ticks_within(program.pid, 1.0) <= 1, 15)
        self.assertTrue(quiet, f"the {name} never rests: {kernel.thread_ticks_within(program.pid, 1.0)}")
        ticks = kernel.thread_ticks_within(program.pid, SECONDS)
        self.assertLessEqual(sum(ticks.values()), MOST_TICKS, f"ticks of the {name} by thread: {ticks}")

    def test_a_hundred_idle_channels_cost_nothing(self):
        server = self.server()
        client = self.client(server.address, channels=CHANNELS)
        self.assertEqual(client.ask("each", 1000)["statuses"], {"OK": CHANNELS}, client.log())
        self.assert_path(client, probes.expected_path())
        self.assert_idle(server, "server")
        self.assert_idle(client, "client")
        self.assertEqual(client.ask("each", 1000)["statuses"], {"OK": CHANNELS}, client.log())

    def test_a_caller_whose_answer_is_late_sleeps(self):
        server, client = self.pair()
        self.assertFalse(client.ask("hold")["timed_out"], client.log())
        self.assert_path(client, probes.expected_path())
        self.assert_idle(client, "client")
        self.assert_idle(server, "server")
