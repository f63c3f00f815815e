"""A thousand connections come and go: nothing of them may stay, in either process."""

import harness

WARM_UP = 20
CYCLES = 1000


class Churn(harness.ProcessTest):
    def test_a_thousand_connections_leave_nothing(self):
        server = self.server()
        client = self.unopened_client(server.address)
        self.cycle(client, WARM_UP)
        baseline = self.settled(server), self.settled(client)
        self.cycle(client, CYCLES)
        for program, before in zip((server, client), baseline):
            self.assert_holdings_return_to(before, program, "fds memfds threads maps")
        if harness.expected_path() != "tcp":
            self.assertEqual(set(client.paths()), {harness.expected_path()})
            self.assertEqual(len(client.paths()), WARM_UP + CYCLES)

    def cycle(self, client, count):
        report = client.ask("cycle", count, timeout=150)
        self.assertEqual(report["statuses"], {"OK": count}, report["message"])

    def settled(self, program):
        """What the program holds once the last connection is gone: when two looks, half a second apart, agree."""
        looks = [harness.holdings(program.pid)]

        def same_again():
            looks.append(harness.holdings(program.pid))
            return looks[-1] == looks[-2]

        self.assertTrue(harness.await_true(same_again, 10, step=0.5), looks)
        return looks[-1]
