"""What the end of a long run says of a test that is a whole GoogleTest binary."""

import pathlib
import subprocess
import sys
import tempfile
import unittest
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parents[2]
MANY = "\n".join(f"line {number}" for number in range(500))
GOOD = "[ RUN      ] Ring.Good\n[       OK ] Ring.Good (3 ms)\n"


class FailedTests(unittest.TestCase):
    def told(self, output):
        with tempfile.TemporaryDirectory() as folder:
            results = pathlib.Path(folder, "tests-asan.xml")
            results.write_text('<testsuite><testcase name="ring_test" time="1.5"><failure message="Failed"/>'
                               f"<system-out>{escape(output)}</system-out></testcase></testsuite>")
            return subprocess.run([sys.executable, "-B", ROOT / "scripts/failed_tests.py", results], check=True,
                                  capture_output=True, text=True).stdout

    def test_a_failed_case_is_named_however_much_is_printed_after_it(self):
        told = self.told(f"{GOOD}[ RUN      ] Ring.Bad\nExpected: 1\n[  FAILED  ] Ring.Bad (0 ms)\n{GOOD}{MANY}")
        self.assertIn("-- Ring.Bad", told)
        self.assertIn("Expected: 1", told)
        self.assertNotIn("Ring.Good", told)

    def test_the_case_is_named_in_which_the_process_ended_however_long_the_report(self):
        told = self.told(f"{GOOD}[ RUN      ] Ring.Bad/0\nERROR: AddressSanitizer\n{MANY}")
        self.assertIn("-- Ring.Bad/0", told)
        self.assertIn("line 499", told)
        self.assertNotIn("Ring.Good", told)

    def test_each_failed_case_is_named(self):
        bad = "[ RUN      ] Ring.{0}\n[  FAILED  ] Ring.{0}, where GetParam() = 7 (0 ms)\n"
        told = self.told(bad.format("Bad") + GOOD + bad.format("Worse"))
        self.assertIn("-- Ring.Bad", told)
        self.assertIn("-- Ring.Worse", told)
        self.assertNotIn("Ring.Good", told)

    def test_of_other_tests_the_beginning_and_the_end_are_told(self):
        told = self.told(MANY)
        self.assertIn("ring_test: Failed, after 1.5 s", told)
        self.assertIn("line 0\n", told)
        self.assertIn("line 499", told)


if __name__ == "__main__":
    unittest.main()
