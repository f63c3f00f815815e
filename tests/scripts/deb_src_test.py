"""The entries that are made from a machine's apt entries, for the shapes these come in."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import deb_src  # noqa: E402


class SourceEntries(unittest.TestCase):
    def test_deb822(self):
        text = """\
            |Types: deb
            |# a mirror of our own
            |URIs: http://mirror/debian
            |Suites: bookworm bookworm-updates trixie
            |Components: main contrib
            |Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
            |
            |Types: deb deb-src
            |URIs: http://mirror/security
            |Suites: bookworm-security
            |Components: main
            |""".replace("            |", "")
        first, second = deb_src.source_entries(deb_src.stanzas(text), ["bookworm"])
        self.assertEqual(first, "Types: deb-src\nURIs: http://mirror/debian\nSuites: bookworm bookworm-updates\n"
                                "Components: main contrib\n"
                                "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n")
        self.assertIn("Suites: bookworm-security\n", second)

    def test_embedded_key_keeps_its_lines(self):
        text = "Types: deb\nURIs: http://m\nSuites: noble\nComponents: main universe\nSigned-By:\n -----BEGIN\n .\n abc\n"
        (entry,) = deb_src.source_entries(deb_src.stanzas(text), ["noble"])
        self.assertIn("Signed-By: \n -----BEGIN\n .\n abc\n", entry)

    def test_one_line_format(self):
        text = ("# deb http://off bookworm main\n"
                "deb-src http://m/debian bookworm main\n"
                "deb [arch=amd64 signed-by=/k.gpg] http://m/debian bookworm main contrib # why\n")
        (entry,) = deb_src.source_entries(deb_src.one_line_entries(text), ["bookworm"])
        self.assertEqual(entry, "Types: deb-src\nURIs: http://m/debian\nSuites: bookworm\n"
                                "Components: main contrib\nSigned-By: /k.gpg\n")

    def test_others_are_left_out(self):
        disabled = "Enabled: no\nTypes: deb\nURIs: http://m\nSuites: bookworm\nComponents: main\n"
        foreign = "Types: deb\nURIs: http://m\nSuites: nodistro\nComponents: main\n"
        sources = "Types: deb-src\nURIs: http://m\nSuites: bookworm\nComponents: main\n"
        for text in (disabled, foreign, sources):
            self.assertEqual(list(deb_src.source_entries(deb_src.stanzas(text), ["bookworm"])), [], text)

    def test_of_what_comes_with_the_machines_release(self):
        text = ("deb http://m/debian bookworm main\n"
                "deb http://m/debian bookworm-updates main\n"
                "deb http://m/security bookworm-security main\n"
                "deb http://else nodistro main\n")
        (entry,) = deb_src.release_entries(deb_src.one_line_entries(text), ["bookworm"], ["trixie", "sid"])
        self.assertEqual(entry, "Types: deb\nURIs: http://m/debian\nSuites: trixie sid\nComponents: main\n")


class NamesOfTheRelease(unittest.TestCase):
    def names(self, os_release):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "etc").mkdir()
            (pathlib.Path(folder) / "etc/os-release").write_text(os_release)
            return deb_src.names_of(pathlib.Path(folder))

    def test_stable(self):
        self.assertEqual(self.names('VERSION_ID="12"\nVERSION_CODENAME=bookworm\nID=debian\n'), ["bookworm"])

    def test_sid_says_the_codename_of_testing(self):
        names = self.names('PRETTY_NAME="Debian GNU/Linux forky/sid"\nVERSION_CODENAME=forky\nID=debian\n')
        text = "deb http://m/debian sid main\n"
        self.assertEqual(len(list(deb_src.source_entries(deb_src.one_line_entries(text), names))), 1)
