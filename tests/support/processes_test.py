"""Programs that hang are ended with all they started; servers are found where the system put them."""

import pathlib
import socket
import sys
import tempfile
import threading
import unittest

import processes

LISTENS = "import socket; s = socket.create_server(('127.0.0.1', 0)); print('ready', s.getsockname()[1], flush=True)"
SLEEPS = "import signal; signal.signal(signal.SIGINT, lambda *_: exit(0)); print('ready', flush=True); signal.pause()"


class Processes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = pathlib.Path(folder.name) / "log"

    def test_what_does_not_end_is_killed_with_its_children(self):
        command = ["sh", "-c", "trap '' INT; sleep 600 & echo ready $!; wait"]
        server = processes.LoggedServer(command, processes.clean_environment(), self.log, "ready")
        server.wait_until_ready()
        self.assertIn("did not end", server.stop(0.1))
        child = pathlib.Path("/proc", server.log().split()[1], "cmdline")
        # A killed child is nobody's business but init's, which may take its time to forget it.
        self.assertTrue(processes.await_true(lambda: not child.exists() or not child.read_bytes(), 5))

    def test_a_program_that_hangs(self):
        status, _ = processes.run_to_end(["sleep", "600"], processes.clean_environment(), self.log, 0.1)
        self.assertIsNone(status)

    def test_end_faults(self):
        self.assertEqual(processes.end_fault(0, "a, b", 1, ("a", "b")), "")
        self.assertIn("'b'", processes.end_fault(0, "a", 1, ("a", "b")))
        self.assertIn("status 3", processes.end_fault(3, "a", 1, ("a",)))
        self.assertIn("after 1 s", processes.end_fault(None, "a", 1, ("a",)))

    def server(self, program):
        server = processes.LoggedServer([sys.executable, "-c", program], processes.clean_environment(), self.log, "ready")
        self.addCleanup(server.stop, 5)
        server.wait_until_ready()
        return server

    def test_port_of_the_systems_choice(self):
        program = f"{LISTENS}; {SLEEPS}"
        server = self.server(program)
        self.assertEqual(f"ready {server.listening_port()}", server.log().splitlines()[0])

    def test_who_does_not_accept(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            address = f"127.0.0.1:{listener.getsockname()[1]}"
            self.assertFalse(processes.accepts(address, 0.1))
            listener.accept()[0].close()  # that one
            accepting = threading.Thread(target=lambda: listener.accept()[0].close())
            accepting.start()
            self.assertTrue(processes.accepts(address, 5))
            accepting.join()

    def test_server_that_dies_has_no_port(self):
        with self.assertRaises(RuntimeError):
            self.server("print('ready', flush=True)").listening_port()

    def test_how_a_server_ended(self):
        self.assertEqual(self.server(SLEEPS).stop(5), "")
        self.assertIn("ended with status", self.server(SLEEPS.replace("exit(0)", "exit(4)")).stop(5))


if __name__ == "__main__":
    unittest.main()
