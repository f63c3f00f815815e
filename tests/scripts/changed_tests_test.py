"""Which tests './run test changed' runs."""

import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import changed_tests  # noqa: E402


class ChangedTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        (self.build / "Testing").mkdir()
        self.enterContext(unittest.mock.patch.object(changed_tests, "SHARED", self.build / "shared"))

    def written(self, name, time):
        file = self.build / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        os.utime(file, (time, time))
        return str(file)

    def passes(self, name, time):
        results = self.build / "results.xml"
        results.write_text(f'<testsuite><testcase name="{name}" status="run"/></testsuite>')
        changed_tests.note(self.build, results, time)

    def of(self, *command, labels=(), name="test"):
        return {"name": name, "command": list(command),
                "properties": [{"name": "LABELS", "value": list(labels)}]}

    def affected(self, *tests):
        return changed_tests.affected(tests, self.build)

    def test_a_test_that_never_passed_is_run(self):
        self.assertEqual(self.affected(self.of(self.written("ring_test", 100))), [1])

    def test_a_test_whose_program_is_as_it_was_is_not_run_again(self):
        program = self.written("ring_test", 100)
        self.passes("test", 101)
        self.assertEqual(self.affected(self.of(program, "--gtest_filter=Ring.*")), [])

    def test_a_test_whose_program_was_built_since_is_run(self):
        program = self.written("ring_test", 100)
        self.passes("test", 99)
        self.assertEqual(self.affected(self.of(program), self.of(program, name="other")), [1, 2])

    def test_a_program_that_is_built_while_its_test_runs_counts_as_changed(self):
        self.passes("test", 100)
        self.assertEqual(self.affected(self.of(self.written("ring_test", 100))), [1])

    def test_a_failed_test_is_run_again(self):
        program = self.written("ring_test", 100)
        self.passes("test", 101)
        results = self.build / "results.xml"
        results.write_text('<testsuite><testcase name="test" status="fail"/></testsuite>')
        changed_tests.note(self.build, results, 102)
        self.assertEqual(self.affected(self.of(program)), [1])

    def test_tests_of_sources_always_run(self):
        script = self.written("words_test.py", 100)
        self.passes("test", 101)
        self.assertEqual(self.affected(self.of(sys.executable, script, labels=["source"])), [1])

    def test_whole_processes_run_again_for_scripts_programs_and_libraries(self):
        script = self.written("scripts/test_death.py", 100)
        self.passes("test", 101)
        test = self.of(sys.executable, "-B", script, labels=["process"])
        self.assertEqual(self.affected(test), [])
        for name in ("scripts/programs.py", "shared/child.py", "victim", "tools/skein/skein", "libskein_grpc.so.1"):
            changed = pathlib.Path(self.written(name, 102))
            changed.chmod(0o755)
            self.assertEqual(self.affected(test), [1], name)
            changed.unlink()
