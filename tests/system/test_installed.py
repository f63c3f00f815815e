"""What `cmake --install` puts somewhere serves programs that know nothing of this repository:
examples/standalone, copied elsewhere, built with CMake and with pkg-config, and run. Libraries show their public names
alone."""

import pathlib
import re
import shutil
import subprocess
import tempfile

from skeintest import probes
from skeintest.cases import ProcessTest
from skeintest.child import clean_environment

ROOT = pathlib.Path(__file__).resolve().parents[2]

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
# Of these, an installed header includes some; they are other packages'.
OTHERS = re.compile(r"[a-z_]+(\.h)?$|sys/|absl/|grpcpp/|thrift/")

GRPC = "skein::grpc_transport::"
THRIFT = r"(vtable for |typeinfo (name )?for |(non-)?virtual thunk to )?skein::thrift_transport::"
# What may be seen of each library, by its SONAME.
EXPORTS = {
    "libskein_core.so.1": r".*\bskein::",
    "libskein_grpc.so.1": rf"skein::Paths\(|{GRPC}(Init|TraceCalls)\(|skein_grpc_serve_1$",
    "libskein_grpc_durable.so.1": rf"{GRPC}(CreateDurableChannel\(|Durable(Mark|Service)::(?!Impl))",
    "libskein_rpc.so.1": r"skein::(PeerUsers|rpc::(Client|Connection|PendingCall|Reply|Server))::(?!Impl)",
    "libskein_thrift.so.1": rf"{THRIFT}(TraceCalls\(|TSkein\w+($|::(?!Impl|Skein::)))",
    "libskein_grpc_preload.so": (
        r"(gpr_once_init|grpc_\w*channel_create|grpc_server_add_\w*http2_port|grpc_completion_queue_(next|pluck)"
        r"|grpc_(channel_create|server_add_channel)_from_fd)$"
    ),
}  # fmt: skip


def run(*command, env=None):
    done = subprocess.run(command, capture_output=True, text=True, env=env or clean_environment())
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def defined(library):
    """The names that others can link to; of a constructor, say, once."""
    lines = run("nm", "-DC", "--defined-only", "--without-symbol-versions", library).splitlines()
    return {name for _, kind, name in (line.split(" ", 2) for line in lines) if kind != "A"}


class Installed(ProcessTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="skein-installed-")))
        run("cmake", "--install", probes.build(), "--prefix", cls.folder / "first")
        # Nothing may remember where it was put.
        cls.prefix = (cls.folder / "first").rename(cls.folder / "prefix")
        (cls.libraries,) = (path.parent for path in cls.prefix.rglob("libskein_grpc.so.1"))
        cls.project = shutil.copytree(ROOT / "examples/standalone", cls.folder / "project")
        cls.programs = cls.folder / "build"
        run("cmake", "-G", "Ninja", "-S", cls.project, "-B", cls.programs, f"-DCMAKE_PREFIX_PATH={cls.prefix}")
        run("cmake", "--build", cls.programs)

    def serve(self, *command):
        """Where the server that this starts says that it listens."""
        return self.child(command).line().removeprefix("listening on ")

    def test_headers_include_only_what_is_installed(self):
        headers = {str(path.relative_to(self.prefix / "include")): path for path in self.prefix.rglob("*.h")}
        self.assertIn("skein/grpc.h", headers)
        missing = [
            f"{name}: {included}"
            for name, path in headers.items()
            for included in INCLUDE.findall(path.read_text())
            if included not in headers and not OTHERS.match(included)
        ]
        self.assertEqual(missing, [])

    def test_libraries_show_public_names_alone(self):
        installed = {path.name: path for path in self.libraries.glob("lib*.so*") if not path.is_symlink()}
        self.assertEqual(installed.keys(), EXPORTS.keys())
        for soname, public in EXPORTS.items():
            with self.subTest(soname):
                self.assertIn(f"[{soname}]", run("readelf", "-dW", installed[soname]))
                names = defined(installed[soname])
                self.assertTrue(names)
                self.assertEqual([name for name in names if not re.match(public, name)], [])

    def test_types_that_thrift_programs_catch_and_cast_to_are_shown(self):
        names = defined(self.libraries / "libskein_thrift.so.1")
        for kind in ("Socket", "ServerSocket", "NonblockingServerSocket", "DurableProcessor", "DurableTransport",
                     "DurableTransportFactory"):  # fmt: skip
            for of in ("typeinfo for ", "vtable for "):
                self.assertIn(f"{of}skein::thrift_transport::TSkein{kind}", names)

    def test_a_grpc_program_of_the_installed_libraries_uses_shared_memory(self):
        port = self.serve(self.programs / "grpc_server", "127.0.0.1:0", self.folder / "calls.log")
        paths = run(self.programs / "grpc_client", f"127.0.0.1:{port}").splitlines()
        self.assertEqual(paths, ["shm "] * len(paths))
        self.assertTrue(paths)

    def test_a_component_that_there_is_not_is_named(self):
        project = self.folder / "misspelt"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.20)\nproject(misspelt CXX)\nfind_package(Skein REQUIRED COMPONENTS grcp)\n",
            encoding="utf-8")  # fmt: skip
        with self.assertRaisesRegex(AssertionError, r"no\s+component\s+grcp\s+here;\s+there\s+are:\s+rpc"):
            run("cmake", "-G", "Ninja", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")

    def test_a_thrift_program_of_the_installed_libraries_uses_shared_memory(self):
        port = self.serve(self.programs / "thrift_echo", "serve")
        self.assertEqual(run(self.programs / "thrift_echo", "call", "127.0.0.1", port), "shm \n")

    def test_an_rpc_program_that_pkg_config_alone_has_built_uses_shared_memory(self):
        searches = {**clean_environment(), "PKG_CONFIG_PATH": str(self.libraries / "pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "skein-rpc", env=searches).split()
        program = self.folder / "by_pkg_config"
        run("g++", "-std=c++20", "-o", program, self.project / "rpc_echo.cc", *flags, f"-Wl,-rpath,{self.libraries}")
        address = self.serve(program, "serve")
        self.assertEqual(run(self.programs / "rpc_echo", "call", address), "shm\n")

    def test_pkg_config_knows_every_library(self):
        searches = {**clean_environment(), "PKG_CONFIG_PATH": str(self.libraries / "pkgconfig")}
        for name in ("skein-grpc", "skein-grpc-durable", "skein-thrift"):
            with self.subTest(name):
                flags = run("pkg-config", "--cflags", "--libs", name, env=searches).split()
                self.assertIn(f"-l{name.replace('-', '_')}", flags)
                folders = [pathlib.Path(flag[2:]).resolve() for flag in flags if flag.startswith("-L")]
                self.assertIn(self.libraries, folders)
