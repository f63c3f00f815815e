"""What the preload library does to programs with each kind of gRPC, and to those with none."""

import os
import pathlib
import shutil
import subprocess
import unittest

from skeintest import kernel, probes
from skeintest.cases import ProcessTest
from skeintest.child import clean_environment

HERE = pathlib.Path(__file__).parent
LIMIT = 60


def served():
    return f"libgrpc.so.{probes.grpc().major}"


def unsecure():
    return f"libgrpc_unsecure.so.{probes.grpc().major}"


def program_of(name):
    return probes.binary(f"preloaded/{name}")


def run(command, mode, stub=None, **variables):
    """Under the stub; with SKEIN_GRPC as `mode` says, None: unset."""
    environment = clean_environment("GRPC_") | {"LD_PRELOAD": str(stub or probes.preload_library())}
    if mode is not None:
        environment["SKEIN_GRPC"] = mode
    environment |= variables
    return subprocess.run(
        [str(word) for word in command], env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
    )


class Preload(ProcessTest):
    def core_client(self, mode, *words, program="core_client", target=None, **options):
        """([ready, port, library...], standard error), and a server with Skein as `self.peer`."""
        self.peer = self.server()
        done = run([program_of(program), target or self.peer.address, *words], mode, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split(), done.stderr

    def assert_peer_saw(self, path):
        self.assertTrue(kernel.await_true(lambda: self.peer.path().startswith(path), 10), self.peer.log())


class TheGrpcThatSkeinServes(Preload):
    def test_is_served_when_asked(self):
        for mode in ("prefer", "require"):
            with self.subTest(mode):
                said, errors = self.core_client(mode)
                self.assertEqual(said[:2], ["ready", "port"])
                self.assertIn("libskein_grpc.so.1", said)
                self.assertEqual(errors, "")
                self.assert_peer_saw("shm")

    def test_without_skein_grpc_in_the_environment_the_rest_is_not_even_opened(self):
        said, errors = self.core_client(None)
        self.assertEqual(said, ["ready", "port", f"libgrpc.so.{probes.grpc().core}", "libskein_grpc_preload.so"])
        self.assertEqual(errors, "")
        self.assert_peer_saw("tcp")

    def test_the_channel_argument_counts_in_mode_off(self):
        self.assertEqual(self.core_client("off")[0][0], "ready")
        self.assert_peer_saw("tcp")
        self.assertEqual(self.core_client("off", "require")[0][0], "ready")
        self.assert_peer_saw("shm")

    def test_is_served_before_a_constructor_of_a_library_makes_a_channel(self):
        said, errors = self.core_client("require", program="early_client")
        self.assertEqual(said[:2], ["ready", "port"])
        self.assertEqual(errors, "")
        self.assert_peer_saw("shm")

    def test_a_relative_path_is_meant_from_where_the_process_began(self):
        stub = os.path.relpath(probes.preload_library())
        self.assertEqual(self.core_client("require", stub=stub)[0][0], "ready")
        self.assert_peer_saw("shm")

    def test_a_stub_without_the_rest_beside_it_is_tcp_with_a_reason_or_a_refusal(self):
        alone = self.scratch() / "libskein_grpc_preload.so"
        shutil.copy(probes.preload_library(), alone)
        said, errors = self.core_client("prefer", stub=alone)
        self.assertEqual(said[:2], ["ready", "port"])
        self.assertRegex(errors, rf"^skein: {served()} stays on TCP: .*libskein_grpc.so.*\n$")
        said, errors = self.core_client("require", stub=alone)
        self.assertEqual(said[:2], ["failed", "no-port"])
        self.assertRegex(errors, rf"^skein: {served()} makes no channel and no port.*libskein_grpc.so.*\n$")


class AGrpcThatIsOpenedLater(Preload):
    @unittest.skipUnless(shutil.which("ruby"), "no Ruby")
    def test_by_ruby_is_served(self):
        self.peer = self.server()
        done = run(["ruby", HERE / "preloaded/channel.rb", self.peer.address], "require")
        self.assertEqual((done.returncode, done.stdout), (0, "ready\n"), done.stderr)
        self.assert_peer_saw("shm")

    def later(self, script):
        done = run(["python3", "-c", script], "require")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_by_functions_that_are_looked_up_is_served(self):
        script = (
            "import ctypes\n"
            "def skein(): return 'libskein_grpc.so' in open('/proc/self/maps').read()\n"
            f"grpc = ctypes.CDLL('{served()}')\n"
            "before = skein()\n"
            "grpc.grpc_init()\n"
            "print(before, skein())\n"
        )
        self.assertEqual(self.later(script), "False True\n")

    def test_heeds_the_environment_that_the_process_began_with(self):
        script = (
            "import ctypes, os\n"
            "ctypes.CDLL(None).clearenv()\n"
            f"ctypes.CDLL('{served()}').grpc_init()\n"
            "print('libskein_grpc.so' in open('/proc/self/maps').read())\n"
        )
        self.assertEqual(self.later(script), "True\n")

    def test_in_a_plug_ins_constructor_while_another_thread_initialises_it(self):
        for where, mode in (("init", "require"), ("lock", "require"), ("lock", None)):
            with self.subTest(where, mode=mode):
                done = run([program_of("racing_plugins"), where, program_of("libracing_plugin.so")], mode)
                served = "not served" if mode is None else "served"
                self.assertEqual((done.returncode, done.stdout), (0, f"{served}\n"), done.stderr)


class AnotherGrpc(Preload):
    def test_unsecure_is_left_alone_with_one_line(self):
        said, errors = self.core_client("prefer", program="core_client_unsecure")
        self.assertEqual(said, ["ready", "port", f"libgrpc_unsecure.so.{probes.grpc().core}", "libskein_grpc_preload.so"])
        self.assertRegex(errors, rf"^skein: {unsecure()} stays on TCP: [^\n]*{probes.grpc().version}[^\n]*\n$")
        self.assert_peer_saw("tcp")

    def test_unsecure_is_left_alone_without_a_word_when_nobody_asks(self):
        for mode in (None, "off"):
            with self.subTest(mode):
                said, errors = self.core_client(mode, program="core_client_unsecure")
                self.assertEqual((said[:2], errors), (["ready", "port"], ""))

    def test_unsecure_makes_no_channel_and_no_port_that_would_be_on_tcp_under_require(self):
        for words, mode in (((), "require"), (("require",), "prefer")):
            with self.subTest(mode, words=words):
                said, errors = self.core_client(mode, *words, program="core_client_unsecure")
                self.assertEqual(said[0], "failed")
                self.assertEqual(said[1], "no-port" if mode == "require" else "port")
                self.assertRegex(errors, rf"^skein: {unsecure()} makes no channel and no port[^\n]*\n$")
                self.assertEqual(self.peer.paths(), [])

    def test_of_a_plug_in_that_jumps_to_it_is_found(self):
        script = (
            "import ctypes\n"
            f"plugin = ctypes.CDLL('{program_of('libjumping_plugin.so')}')\n"
            f"grpc = ctypes.CDLL('{unsecure()}')\n"
            "grpc.grpc_init()\n"
            "for function in (grpc.grpc_insecure_credentials_create, plugin.plugin_channel):\n"
            "    function.restype = ctypes.c_void_p\n"
            "plugin.plugin_channel.argtypes = [ctypes.c_char_p, ctypes.c_void_p]\n"
            "channel = plugin.plugin_channel(b'127.0.0.1:1', grpc.grpc_insecure_credentials_create())\n"
            "print('a channel' if channel else 'none')\n"
        )
        for mode in (None, "prefer", "require"):
            with self.subTest(mode):
                done = run(["python3", "-c", script], mode)
                self.assertEqual((done.returncode, done.stdout), (0, "a channel\n"), done.stderr)
                self.assertEqual("makes no channel" in done.stderr, mode == "require", done.stderr)

    def test_an_argument_of_the_channel_wins_over_require(self):
        said, _ = self.core_client("require", "prefer", program="core_client_unsecure")
        self.assertEqual(said[0], "ready")

    def test_of_long_ago_is_refused_by_its_own_functions(self):
        self.assertEqual(run([program_of("old_client")], "prefer").stdout, "4 of 4 on TCP\n")
        done = run([program_of("old_client")], "require")
        self.assertEqual(done.stdout.count("lame 14 skein: the mode is require"), 2, done.stdout)
        self.assertIn("0 of 4 on TCP", done.stdout)
        self.assertRegex(done.stderr, r"^skein: libgrpc\.so\.10 makes no channel[^\n]*\n$")

    def test_is_served_by_a_library_for_its_number_beside_the_stub_alone(self):
        folder = self.scratch()
        stub = folder / "libskein_grpc_preload.so"
        shutil.copy(probes.preload_library(), stub)
        shutil.copy(program_of("old_grpc/libskein_grpc-10.so.1"), folder)
        done = run([program_of("old_client")], "require", stub=stub)
        self.assertEqual(done.stdout, "serves 10.0.0\npolls and plucks\npolls for the next\n4 of 4 on TCP\n")
        self.assertEqual(done.stderr, "")
        (folder / "libskein_grpc-10.so.1").unlink()
        done = run([program_of("old_client")], "prefer", stub=stub)
        self.assertEqual(done.stdout, "4 of 4 on TCP\n")
        self.assertRegex(done.stderr, r"^skein: libgrpc\.so\.10 stays on TCP: [^\n]*libskein_grpc-N\.so\.1[^\n]*\n$")

    def test_is_not_served_by_a_library_for_yet_another(self):
        folder = self.scratch()
        stub = folder / "libskein_grpc_preload.so"
        shutil.copy(probes.preload_library(), stub)
        shutil.copy(probes.preload_library().parent / "libskein_grpc.so.1", folder / "libskein_grpc-10.so.1")
        done = run([program_of("old_client")], "prefer", stub=stub)
        self.assertEqual(done.stdout, "4 of 4 on TCP\n")
        self.assertRegex(done.stderr, r"^skein: libgrpc\.so\.10 stays on TCP: [^\n]*for another gRPC[^\n]*\n$")

    def test_inside_the_program_is_named(self):
        for mode, words in (("prefer", "stays on TCP:"), ("require", "stays on TCP, although the mode is require:")):
            with self.subTest(mode):
                done = run([program_of("own_grpc")], mode)
                self.assertEqual((done.returncode, done.stdout), (0, "its own\n"))
                self.assertRegex(done.stderr, rf"^skein: the gRPC inside this program {words}[^\n]*\n$")
        self.assertEqual(run([program_of("own_grpc")], "off").stderr, "")


class NoGrpc(Preload):
    def test_nothing_is_loaded_but_the_stub(self):
        done = run(["cat", "/proc/self/maps"], "require")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        libraries = {line.rsplit("/", 1)[-1] for line in done.stdout.splitlines() if ".so" in line}
        self.assertEqual({name for name in libraries if "grpc" in name or "stdc++" in name}, {"libskein_grpc_preload.so"})

    def test_the_stub_needs_the_c_library_alone(self):
        dynamic = subprocess.run(
            ["readelf", "-dW", probes.preload_library()], capture_output=True, text=True, check=True
        ).stdout
        self.assertEqual([line.split("[")[1] for line in dynamic.splitlines() if "(NEEDED)" in line], ["libc.so.6]"])

    def test_the_stub_asks_for_functions_that_each_c_library_has(self):
        """Else a child with another C library than glibc does not start."""
        symbols = subprocess.run(
            ["readelf", "-W", "--dyn-syms", probes.preload_library()], capture_output=True, text=True, check=True
        ).stdout
        asked_for = [line.split()[7] for line in symbols.splitlines() if " GLOBAL " in line and " UND " in line]
        self.assertIn("dlsym", " ".join(asked_for))
        self.assertEqual([name for name in asked_for if name.split("@")[0].endswith("_chk")], [])

    def test_a_static_program_is_unharmed(self):
        done = run([program_of("static_program")], "require")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "static\n", ""))

    def test_a_child_costs_little_processor_time(self):
        """The least of 100 each, by turns: a busy machine adds to some. Without the stub's care it is 15 ms."""

        def spent(environment):
            used = os.wait4(os.posix_spawn("/bin/true", ["/bin/true"], environment), 0)[2]
            return used.ru_utime + used.ru_stime

        plain = clean_environment("GRPC_")
        stubbed = plain | {"LD_PRELOAD": str(probes.preload_library()), "SKEIN_GRPC": "require"}
        without, with_stub = zip(*((spent(plain), spent(stubbed)) for _ in range(100)))
        self.assertLess(min(with_stub) - min(without), 0.002)
