"""A process with gRPC's library and Thrift's has one core: one list of paths, one thread of each
kind, one socket where peers meet it. A core of another version is refused."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from skeintest import probes
from skeintest.child import Child, clean_environment

LIBRARIES = ("grpc_transport/libskein_grpc.so.1", "grpc_transport/libskein_grpc_durable.so.1",
             "thrift_transport/libskein_thrift.so.1", "core/rpc/libskein_rpc.so.1")  # fmt: skip


def libraries():
    return [probes.build() / path for path in LIBRARIES]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def symbols(library, *options):
    """(kind, name, version) of each that the library defines."""
    lines = output("nm", "--defined-only", *options, library).splitlines()
    for kind, name in (line.split(" ", 2)[1:] for line in lines):
        name, _, version = name.partition("@@")
        yield kind, name, version


class BothAdapters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        environment = {**clean_environment(), "SKEIN_GRPC": "require", "SKEIN_THRIFT": "require"}
        cls.process = cls.enterClassContext(Child([probes.binary("both_adapters")], environment))
        cls.assertEqual(cls(), cls.process.line(), "ready")
        cls.proc = pathlib.Path(f"/proc/{cls.process.pid}")

    def test_one_core_is_mapped(self):
        mapped = {line.split()[-1] for line in (self.proc / "maps").read_text().splitlines() if "/libskein_" in line}
        self.assertEqual({pathlib.Path(path).name for path in mapped},
                         {"libskein_core.so.1", "libskein_grpc.so.1", "libskein_thrift.so.1"})  # fmt: skip
        self.assertEqual(len(mapped), 3, mapped)

    def test_one_list_has_the_paths_of_both(self):
        rows = [line.split() for line in probes.skein("paths", self.process.pid).stdout.splitlines()[1:]]
        self.assertEqual(sorted(row[2] for row in rows), ["grpc", "grpc", "thrift", "thrift"], rows)
        self.assertEqual({row[6].split("+")[0] for row in rows}, {"shm"}, rows)

    def test_one_thread_answers_the_command_and_one_polls_what_nobody_does(self):
        names = [(task / "comm").read_text().strip() for task in (self.proc / "task").iterdir()]
        self.assertEqual([names.count(each) for each in ("skein-control", "skein-progress")], [1, 1], names)

    def test_peers_and_the_command_find_one_socket_each(self):
        """Listening ones: bit 16 of the flags (__SO_ACCEPTCON)."""
        inodes = {match[1] for fd in (self.proc / "fd").iterdir() if (match := re.match(r"socket:\[(\d+)\]", str(fd.readlink())))}
        listening = [
            words[7]
            for words in (line.split() for line in (self.proc / "net/unix").read_text().splitlines()[1:])
            if len(words) == 8 and words[6] in inodes and int(words[3], 16) & 1 << 16
        ]
        self.assertEqual(len([name for name in listening if name.startswith("@skein-control-")]), 1, listening)
        self.assertEqual(len([name for name in listening if not name.startswith("@skein-control-")]), 1, listening)


class Names(unittest.TestCase):
    def test_all_are_of_one_version_and_of_skeins_namespace(self):
        exported = {(version, name) for _, name, version in symbols(probes.core_library(), "-D") if not name.startswith("SKEIN_CORE")}
        (version,) = {version for version, _ in exported}
        self.assertRegex(version, r"^SKEIN_CORE_PRIVATE_\d+\.\d+\.\d+$")
        self.assertEqual([name for _, name in exported if not re.match(r"_ZN[KRO]?5skein|_ZT.+5skein", name)], [])

    def test_no_library_has_a_function_or_a_variable_of_the_core_once_more(self):
        """But inline functions, which belong to no library, and tables of types, which are compared by name."""
        core = {name for kind, name, _ in symbols(probes.core_library(), "-D") if kind in "TBDR"}
        self.assertGreater(len(core), 500)
        for library in libraries():
            with self.subTest(library.name):
                self.assertEqual({name for _, name, _ in symbols(library) if name in core}, set())
                needed = output("readelf", "-dW", library)
                self.assertIn("[libskein_core.so.1]", needed)

    def test_a_core_of_another_version_is_refused_by_name(self):
        with tempfile.TemporaryDirectory(prefix="skein-core-") as folder:
            folder = pathlib.Path(folder)
            (folder / "exports.map").write_text("SKEIN_CORE_PRIVATE_0.0.0 { global: nothing; local: *; };\n")
            (folder / "other.cc").write_text('extern "C" { int nothing; }\n')
            output("g++", "-shared", "-fPIC", "-Wl,-soname,libskein_core.so.1", "-Wl,--version-script", folder / "exports.map",
                   "-o", folder / probes.core_library().name, folder / "other.cc")  # fmt: skip
            for library in libraries():
                shutil.copy(library, folder)
                done = subprocess.run(
                    [sys.executable, "-c", f"import ctypes; ctypes.CDLL('{folder / library.name}')"],
                    capture_output=True, text=True, timeout=60, env=clean_environment(),
                )  # fmt: skip
                self.assertEqual(done.returncode, 1)
                self.assertRegex(
                    done.stderr,
                    rf"libskein_core\.so\.1: version `SKEIN_CORE_PRIVATE_.*' not found \(required by .*{library.name}\)",
                )
