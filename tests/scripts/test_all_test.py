"""How ./run test --all ends: with status 0 if each part has passed or cannot be run here, else with 1 and the parts' names."""

import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The stubs replace what each part does, and leave when and how test_all calls it. Another shell builds in the background.
STUBS = """
install_packages() { :; }
build_preset() { :; }
build_sanitized() { :; }
build_chroots() { tail --pid="$1" -f /dev/null; %(chroots)s; }
run_ctest() { :; }
run_guests() { :; }
verb_docs() { :; }
test_interop() { :; }
test_thrift() { return $CANNOT; }
test_packages() { :; }
test_grpc_core() { :; }
test_sanitized() { :; }
test_chaos() { %(chaos)s; }
test_instructions() { :; }
test_fuzz() { :; }
tidy_quickly() { :; }
test_current_grpc() { :; }
test_debian13() { :; }
"""


class Ends(unittest.TestCase):
    def run_all(self, chaos=":", chroots=":"):
        with tempfile.TemporaryDirectory() as build:
            script = f"source {ROOT}/scripts/lib.sh; source {ROOT}/scripts/test.sh; BUILD={build}; mkdir $BUILD/logs\n"
            script += STUBS % {"chaos": chaos, "chroots": chroots} + "test_all"
            return subprocess.run(["/bin/bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True, timeout=60)

    def test_well_when_each_part_has_passed_or_cannot_be_run(self):
        result = self.run_all()
        self.assertRegex(result.stderr, r"s: the end, without: thrift\n$")
        self.assertEqual(result.returncode, 0)

    def test_well_when_a_build_in_the_background_has_failed_that_no_part_needed(self):
        self.assertEqual(self.run_all(chroots="exit 1").returncode, 0)

    def test_badly_when_a_part_has_failed_which_is_named(self):
        result = self.run_all(chaos="echo seed 7 fails; return 1")
        self.assertIn("--- the end of chaos", result.stderr)
        self.assertIn("seed 7 fails", result.stdout)
        self.assertRegex(result.stderr, r"run: failed: chaos\n$")
        self.assertEqual(result.returncode, 1)


if __name__ == "__main__":
    unittest.main()
