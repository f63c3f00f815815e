"""Pages that promise something name the tests that hold it: each of those is there."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/vm"))

import run_vm  # noqa: E402

NO_TESTS = {"AuthContext", "TSSLSocket", "Suite", "Suite.Test"}  # other words
PAGES = ("docs/security.md", "docs/reliability.md")


def read(pattern):
    return "\n".join(path.read_text() for path in ROOT.glob(pattern))


class NamedTests(unittest.TestCase):
    def test_each_is_there(self):
        cpp = read("tests/**/*.cc") + read("tests/**/*.h")
        pages = "\n".join((ROOT / page).read_text() for page in PAGES if (ROOT / page).exists())
        # Guests' tests may be in brackets behind the command, too.
        in_guests = re.sub(r"`\./run test vm` \(([\w, ]+)\)", lambda named: f"`./run test vm {named[1].replace(',', '')}`", pages)
        named = re.findall(r"`([^`]+)`", in_guests)
        missing = [name for name in named if not self.exists(name, cpp)]
        self.assertGreater(len(named), 40)
        self.assertEqual(missing, [])

    def exists(self, name, cpp):
        if fuzz := re.fullmatch(r"fuzz_(\w+)", name):
            return (ROOT / f"tests/fuzz/{fuzz[1]}.cc").exists()
        if python := re.fullmatch(r"(test_\w+)\.(test_\w+)", name):
            file = ROOT / f"tests/system/{python[1]}.py"
            return file.exists() and f"def {python[2]}(" in file.read_text()
        if command := re.fullmatch(r"\./run (\w+)(?: (?:--)?(\w[\w-]*))?(.*)", name):
            return self.runs(*command.groups())
        if suite := re.fullmatch(r"([A-Z]\w*)(?:\.([A-Z]\w*))?", name):
            if name in NO_TESTS:
                return True
            # A fixture's name, or an alias of it; both words in one declaration where a test is named.
            test = suite[2] + r"\b" if suite[2] else ""
            return re.search(rf"TEST\w*\(\s*{suite[1]},\s*{test}", cpp) is not None
        return True  # an option, a file

    def runs(self, verb, what, more):
        scripts = read("run") + read("scripts/*.sh")
        faults = read("tests/system/faults/*.py") + read("tests/vm/guest/*.py")
        return (
            f"verb_{verb}()" in scripts
            and (verb != "test" or f"test_{what.replace('-', '_')}()" in scripts)
            and (what != "vm" or set(more.partition(" -- ")[0].split()) <= {test.name for test in run_vm.TESTS})
            and all(f'"{fault}":' in faults for fault in re.findall(r"--fault ([\w-]+)", more))
        )
