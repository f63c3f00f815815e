"""rpc_death_test.py PROGRAM: a server of core/rpc is killed while a client uses its memory, and no thread polls."""

import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from processes import Lines, clean_environment  # noqa: E402

PROGRAM = sys.argv.pop(1)
GUARD = 30  # seconds; only a failing test takes so long


class RpcDeath(unittest.TestCase):
    def start(self, *words):
        process = subprocess.Popen([PROGRAM, *words], env=clean_environment(), stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, Lines(process.stdout)

    def test_a_loop_of_swaps_ends_with_the_server(self):
        server, server_says = self.start("serve")
        client, client_says = self.start("swap", server_says.next(GUARD))
        self.assertEqual(client_says.next(GUARD), "swapping")
        server.kill()
        self.assertRegex(client_says.next(GUARD), "^UNAVAILABLE: .*the peer process is gone")
        self.assertEqual(client.wait(GUARD), 0)


if __name__ == "__main__":
    unittest.main()
