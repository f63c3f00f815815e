"""What ./run fuzz makes of libFuzzer's words, and which inputs it keeps."""

import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/fuzz"))
import corpus  # noqa: E402
import libfuzzer  # noqa: E402
import record  # noqa: E402

LOG = """\
INFO: seed corpus: files: 3 min: 1b max: 90b total: 123b rss: 31Mb
#4\tINITED cov: 90 ft: 91 corp: 3/123b exec/s: 0 rss: 32Mb
#262144\tpulse  cov: 127 ft: 210 corp: 48/1100b lim: 2611 exec/s: 87381 rss: 310Mb
#516077\tDONE   cov: 130 ft: 215 corp: 50/1200b lim: 4096 exec/s: 86012 rss: 440Mb
stat::number_of_executed_units: 516077
stat::average_exec_per_sec:     86012
"""


class Figures(unittest.TestCase):
    def test_of_a_run(self):
        self.assertEqual(tuple(libfuzzer.figures_in(LOG).values()), (516077, 86012, 50, 130))

    def test_of_one_that_did_not_begin(self):
        self.assertEqual(set(libfuzzer.figures_in("error while loading shared libraries").values()), {0})


class Merging(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def files(self, **sizes):
        for name, size in sizes.items():
            (self.folder / name).write_bytes(bytes(size))
        return [self.folder / name for name in sizes]

    def test_the_smallest_are_chosen(self):
        files = self.files(a=30, b=10, c=20)
        self.assertEqual([file.name for file in corpus.smallest(files, 2, 100)], ["b", "c"])
        self.assertEqual([file.name for file in corpus.smallest(files, 9, 59)], ["b", "c"])

    def test_inputs_of_bugs_stay(self):
        """A target that finds one input and whose committed ones are an older one and a bug's."""
        target = libfuzzer.Target.__new__(libfuzzer.Target)
        target.committed, target.found = self.folder / "committed", self.folder / "found"
        for folder in (target.committed, target.found):
            folder.mkdir()
        (target.committed / ("0" * 40)).write_bytes(b"older")
        (target.committed / "a-size-of-nothing").write_bytes(b"bug")

        def run(*arguments):
            (pathlib.Path(arguments[2]) / ("1" * 40)).write_bytes(b"newer")
            return 0, 0.5

        target.run = run
        self.assertEqual(corpus.merge(target), (2, 8))
        self.assertEqual(sorted(file.name for file in target.committed.iterdir()), ["1" * 40, "a-size-of-nothing"])


class Recording(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("quick", "slow"):
            (self.folder / "corpus" / name).mkdir(parents=True)
            (self.folder / "corpus" / name / "input").touch()
        places = unittest.mock.patch.multiple(record, FILE=self.folder / "record.json", PAGE=self.folder / "page.md")
        places.start()
        self.addCleanup(places.stop)

    def run_of(self, name, executions, seconds, crashes=()):
        target = libfuzzer.Target.__new__(libfuzzer.Target)
        target.name = name
        return libfuzzer.Result(target, executions, 1, 1, edges=7, processor_seconds=seconds, crashes=list(crashes),
                                failed=bool(crashes))

    def test_runs_add_up(self):
        record.add(self.run_of("slow", 1000, 1800.4))
        record.add(self.run_of("quick", 99_999_999, 60))
        self.assertIn("0 of 2 have it", record.PAGE.read_text(encoding="utf-8"))
        record.add(self.run_of("slow", 500, 1800, crashes=["one"]))
        page = record.PAGE.read_text(encoding="utf-8")
        self.assertIn("1 of 2 have it. Together: 100 million executions in 1.0 hours of a processor, 1 crashes.", page)
        self.assertIn("| slow | 0.0 | 60 | 7 | 1 | yes |", page)
        self.assertIn("| quick | 100.0 | 1 | 7 | 0 | not yet |", page)

    def test_the_page_shows_what_is_on_record(self):
        with unittest.mock.patch.object(record, "FILE", ROOT / "tests/fuzz/record.json"):
            entries = record.entries()
        self.assertEqual(record.page(entries), (ROOT / "docs/reliability/fuzzing.md").read_text(encoding="utf-8"))


class Verb(unittest.TestCase):
    def run_verb(self, *arguments):
        return subprocess.run([ROOT / "run", "fuzz", *arguments], capture_output=True, text=True, check=False)

    def test_every_target_is_listed_and_documented(self):
        listed = self.run_verb("--list").stdout.split()
        sources = [path.stem for path in (ROOT / "tests/fuzz").glob("*.cc")]
        self.assertEqual(sorted(set(sources) - {"driver", "guarded_mapping", "libfuzzer", "mutate"}), listed)
        readme = (ROOT / "tests/fuzz/README.md").read_text(encoding="utf-8")
        for target in listed:
            self.assertIn(f"`{target}`", readme)
            self.assertTrue(any((ROOT / "tests/fuzz/corpus" / target).iterdir()), target)

    def test_wrong_calls(self):
        for arguments, said in ((("nonsense",), "there are: block"), (("5x",), "seconds"), (("--all",), "--merge")):
            called = self.run_verb(*arguments)
            self.assertEqual(called.returncode, 2)
            self.assertIn(said, called.stderr)
