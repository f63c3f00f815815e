"""The static probes that docs/tracing.md promises are in the library, with as many arguments."""

import collections
import pathlib
import re
import subprocess
import unittest

from skeintest.probes import core_library

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/tracing.md"

NOTE = re.compile(r"Provider: skein\s+Name: (\w+)\s+Location: .*\s+Arguments:(.*)")
# "| `posted` | channel, bytes, path (0 shm, 1 rdma) | ..."
ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \|", re.MULTILINE)


def probes(library):
    """{name: numbers of arguments}, of the places where it is."""
    notes = subprocess.run(["readelf", "-nW", library], capture_output=True, text=True, check=True).stdout
    found = collections.defaultdict(set)
    for name, arguments in NOTE.findall(notes):
        found[name].add(len(arguments.split()))
    return found


class Probes(unittest.TestCase):
    def test_the_library_has_those_of_the_page(self):
        rows = ROW.findall(PAGE.read_text().partition("## Probes")[2])
        promised = {name: {len(re.sub(r"\(.*?\)", "", words).split(","))} for name, words in rows}
        self.assertIn("record", promised)
        self.assertEqual(probes(core_library()), promised)
