"""What packaging/ says twice, or says of other files, is the same."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEBIAN = ROOT / "packaging/debian"


def listed(field, file):
    """The packages of a field, one a line, of a control file."""
    body = re.search(rf"^{field}:\n((?: .*\n)+)", (DEBIAN / file).read_text(), re.MULTILINE)[1]
    return {line.split()[0].rstrip(",") for line in body.splitlines()}


def installed(file):
    return {line.split()[0] for line in (ROOT / file).read_text().splitlines() if line and line[0] != "#"}


class Packaging(unittest.TestCase):
    def test_versions(self):
        version = re.search(r"^project\(skein VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
        package = re.match(r"skein \(([^)]+)-[^-)]+\)", (DEBIAN / "changelog").read_text())[1]
        self.assertEqual(package, version)
        self.assertIn(f"\n## {version}\n", (ROOT / "CHANGELOG.md").read_text())

    def test_what_building_takes_is_what_setup_installs(self):
        have = installed("scripts/packages.txt") | installed("packaging/packages.txt")
        needed = {{"debhelper-compat": "debhelper"}.get(name, name) for name in listed("Build-Depends", "control")}
        self.assertGreater(len(needed), 10)
        self.assertEqual(needed - have, set())

    def test_what_trying_takes_is_ours_or_what_setup_installs(self):
        ours = set(re.findall(r"^Package: (\S+)", (DEBIAN / "control").read_text(), re.MULTILINE))
        needed = listed("Depends", "tests/control")
        self.assertTrue(needed & ours)
        self.assertEqual(needed - ours - installed("scripts/packages.txt"), set())
