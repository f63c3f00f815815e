"""A server of core/rpc is killed while a client uses its memory, and no thread polls."""

from skeintest import probes
from skeintest.cases import ProcessTest


class RpcDeath(ProcessTest):
    def test_a_loop_of_swaps_ends_with_the_killed_server(self):
        server = self.child([probes.binary("swap_loop"), "serve"])
        client = self.child([probes.binary("swap_loop"), "swap", server.line()])
        self.assertEqual(client.line(), "swapping")
        server.kill()
        self.assertRegex(client.line(), "^UNAVAILABLE: .*the peer process is gone")
        self.assertEqual(client.wait(), 0)
