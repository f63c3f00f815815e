"""Init() refuses what it cannot do well, says why, and leaves gRPC as it was."""

import subprocess
import unittest

from skeintest import probes
from skeintest.child import clean_environment


def run(when, **environment):
    return subprocess.run(
        [probes.binary("refusal"), when], env=clean_environment() | environment, capture_output=True, text=True, timeout=60
    )


class Refusals(unittest.TestCase):
    def test_init_in_time_on_the_right_library_succeeds(self):
        self.assertEqual(run("in-time").returncode, 0)

    @probes.not_with_event_engines("current gRPC takes an engine at any time, for what comes later")
    def test_init_after_the_first_channel_is_refused(self):
        result = run("late")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("before the first channel or server", result.stdout)

    def test_init_on_another_grpc_is_refused(self):
        result = run("in-time", LD_PRELOAD=str(probes.binary("libother_grpc.so")))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("30.1.0", result.stdout)
        self.assertRegex(result.stdout, rf"gRPC {probes.grpc().version}|core {probes.grpc().major},")

    def preloaded(self, mode):
        """By a library that makes gRPC look like another one, and the preload library."""
        libraries = [probes.binary("libother_grpc.so"), probes.preload_library()]
        return run("late", SKEIN_GRPC=mode, LD_PRELOAD=":".join(map(str, libraries)))

    def test_the_preload_library_on_another_grpc_says_so_and_stays_out_of_the_way(self):
        result = self.preloaded("prefer")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, rf"(?m)^skein: libgrpc\.so\.{probes.grpc().major} stays on TCP: .*30\.1\.0")

    def test_the_preload_library_on_another_grpc_lets_nothing_onto_tcp_that_requires_skein(self):
        result = self.preloaded("require")
        self.assertEqual(result.returncode, 2, result.stderr)  # gRPC does not work
        self.assertRegex(result.stderr, rf"(?m)^skein: libgrpc\.so\.{probes.grpc().major} makes no channel and no port.*30\.1\.0")
