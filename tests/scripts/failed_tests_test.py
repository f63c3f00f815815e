"""What the end of a long run says of a test that is a whole GoogleTest binary."""

import pathlib
import subprocess
import sys
import tempfile
import unittest
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import failed_tests  # noqa: E402
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

    def test_results_of_a_run_that_ended_early_hide_no_others(self):
        with tempfile.TemporaryDirectory() as folder:
            early, whole = pathlib.Path(folder, "tests-dev.xml"), pathlib.Path(folder, "tests-vm.xml")
            early.touch()
            whole.write_text('<testsuite><testcase name="faults" time="2"><failure message="Bad"/></testcase></testsuite>')
            told = subprocess.run([sys.executable, "-B", ROOT / "scripts/failed_tests.py", early, whole], check=True,
                                  capture_output=True, text=True).stdout
        self.assertIn("tests-dev: there are no results", told)
        self.assertIn("faults: Bad", told)

    def test_frames_of_a_program_that_is_not_there_stay_as_they_are(self):
        frame = "    #0 <null> <null> (gone_test+0x1386e6) (BuildId: 9166f3ae3d934148)"
        self.assertIn(frame, self.told(f"[ RUN      ] Ring.Bad\n{frame}\n"))

    def test_frames_without_a_name_get_theirs_from_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder, "tsan")
            build.mkdir()
            source = build / "racy.c"
            source.write_text("int Racy(int x) { return x + 1; }\nint main(void) { return Racy(1); }\n")
            subprocess.run(["cc", "-g", "-O0", "-no-pie", "-o", build / "racy", source], check=True)
            table = subprocess.run(["nm", build / "racy"], check=True, capture_output=True, text=True).stdout
            address = next(line.split()[0] for line in table.splitlines() if line.endswith(" Racy"))
            frame = f"#0 <null> <null> (racy+0x{address.lstrip('0')})"
            self.assertTrue(failed_tests.with_names([frame], [build])[0].startswith("#0 Racy "))
