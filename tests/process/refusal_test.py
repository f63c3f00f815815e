"""Init() refuses what it cannot do well, says why, and leaves gRPC as it was."""

import os
import pathlib
import subprocess
import sys
import unittest

BUILD = pathlib.Path(sys.argv.pop(1))
VERSION, CORE = sys.argv.pop(1).split("/")  # of the gRPC that Skein is built for
MAJOR = CORE.split(".")[0]


def run(when, **environment):
    return subprocess.run(
        [BUILD / "refusal", when], env={**os.environ, **environment}, capture_output=True, text=True, timeout=60
    )


class Refusals(unittest.TestCase):
    def test_in_time_on_the_right_library(self):
        self.assertEqual(run("in-time").returncode, 0)

    @unittest.skipIf(int(MAJOR) > 29, "current gRPC takes an engine at any time, for what comes later")
    def test_after_the_first_channel(self):
        result = run("late")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("before the first channel or server", result.stdout)

    def test_on_another_grpc(self):
        result = run("in-time", LD_PRELOAD=str(BUILD / "libother_grpc.so"))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("30.1.0", result.stdout)
        self.assertRegex(result.stdout, rf"gRPC {VERSION}|core {MAJOR},")

    def preloaded(self, mode):
        """By a library that makes gRPC look like another one, and the preload library."""
        libraries = [BUILD / "libother_grpc.so", BUILD.parents[1] / "grpc_transport/libskein_grpc_preload.so"]
        return run("late", SKEIN_GRPC=mode, LD_PRELOAD=":".join(map(str, libraries)))

    def test_the_preload_library_on_another_grpc_says_so_and_stays_out_of_the_way(self):
        result = self.preloaded("prefer")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, rf"(?m)^skein: libgrpc\.so\.{MAJOR} stays on TCP: .*30\.1\.0")

    def test_the_preload_library_on_another_grpc_lets_nothing_onto_tcp_that_requires_skein(self):
        result = self.preloaded("require")
        self.assertEqual(result.returncode, 2, result.stderr)  # gRPC does not work
        self.assertRegex(result.stderr, rf"(?m)^skein: libgrpc\.so\.{MAJOR} makes no channel and no port.*30\.1\.0")


if __name__ == "__main__":
    unittest.main()
