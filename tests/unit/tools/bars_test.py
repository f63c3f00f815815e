"""What skein-bars draws of made-up stages."""

import json
import pathlib
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

BARS = pathlib.Path(__file__).resolve().parents[3] / "tools/skein/bars.py"
TEXT = "{http://www.w3.org/2000/svg}text"


def stage(name, work, microseconds, part=True):
    return {"name": name, "work": work, "p50_ns": microseconds * 1000, "part": part}


def group(method, *stages):
    return {"kind": "call", "path": "shm", "side": "client", "method": method, "stages": stages}


class Bars(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def bars(self, stages, file):
        return subprocess.run([BARS, file], input=stages, capture_output=True, text=True, timeout=60)

    def texts(self, *groups):
        file = self.folder / "calls.svg"
        result = self.bars(json.dumps(groups), file)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        return [node.text for node in xml.etree.ElementTree.parse(file).getroot().iter(TEXT)]

    def test_parts_have_their_lengths(self):
        parts = (stage("posting", "software", 0.25), stage("wire", "wire", 1.5), stage("handler", "handler", 30))
        texts = self.texts(group("/a.B/C", *parts, stage("from end to end", "", 33, part=False)), group("/d.E/F", *parts))
        for text in ("/a.B/C over shm, seen by the client: 31.75 us", "/d.E/F over shm, seen by the client: 31.75 us",
                     "posting (software) 0.25", "wire (wire) 1.50", "handler (handler) 30.00", "30.00"):  # fmt: skip
            self.assertIn(text, texts)
        self.assertNotIn("1.50", texts, "the part is too narrow")
        self.assertFalse([text for text in texts if "from end to end" in text])

    def test_names_have_any_characters_and_any_length(self):
        name = "$\\frac$\0\n\x1b[2J<&>" + "n" * 1000
        texts = self.texts(group(name, stage(name, name, 1)))
        self.assertTrue(any(text.startswith("$\\frac$???[2J<&>nnn") and len(text) < 200 for text in texts), texts)

    def test_without_bars_or_lengths_there_is_a_picture(self):
        self.assertEqual(self.texts(), [])
        self.assertIn("wire (wire) 0.00", self.texts(group("/idle", stage("wire", "wire", 0))))

    def test_the_name_says_what_is_drawn(self):
        for name, begin in (("a.png", b"\x89PNG"), ("a.pdf", b"%PDF")):
            self.assertEqual(self.bars("[]", self.folder / name).returncode, 0)
            self.assertTrue((self.folder / name).read_bytes().startswith(begin), name)

    def test_says_why_nothing_is_drawn(self):
        for stages, file, why in (("", "a.svg", "Expecting value"), ("[]", "none/a.svg", "No such file"), ("[]", "a.xyz", "xyz")):
            result = self.bars(stages, self.folder / file)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr, f"^skein-bars: .*{why}")
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
