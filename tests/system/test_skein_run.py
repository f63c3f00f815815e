"""skein run starts programs with Skein, says what stands in the way, and refuses what it must."""

import os
import pathlib
import shutil
import subprocess
import unittest

from skeintest import kernel, probes
from skeintest.cases import ProcessTest
from skeintest.child import clean_environment

SHOW = ["sh", "-c", "echo $SKEIN_GRPC $SKEIN_SHM $LD_PRELOAD"]


def program_of(name):
    return probes.binary(f"preloaded/{name}")


def whole_library():
    return probes.preload_library().with_name("libskein_grpc.so.1")


def run(*words, skein=None, prefix=(), **variables):
    environment = clean_environment("GRPC_") | variables
    command = [*prefix, skein or probes.tool("skein"), "run", *words]
    return subprocess.run(
        [str(word) for word in command], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


class Starting(ProcessTest):
    def test_a_program_is_served_and_nothing_is_said(self):
        server = self.server()
        for words in ((), ("--require",), ("--require", "--")):
            with self.subTest(words):
                done = run(*words, program_of("core_client"), server.address)
                self.assertEqual((done.returncode, done.stdout.split()[0], done.stderr), (0, "ready", ""))
        self.assertTrue(kernel.await_true(lambda: server.paths().count("shm") == 3, 10), server.log())

    def test_it_is_found_beside_the_command_as_installed(self):
        prefix = self.scratch()
        for folder, file in (("bin", probes.tool("skein")), ("lib", probes.preload_library()), ("lib", whole_library())):
            (prefix / folder).mkdir(exist_ok=True)
            shutil.copy(file, prefix / folder)
        server = self.server()
        done = run("--require", program_of("core_client"), server.address, skein=prefix / "bin/skein")
        self.assertEqual((done.stdout.split()[0], done.stderr), ("ready", ""))
        (prefix / "lib/libskein_grpc.so.1").unlink()
        done = run("--require", program_of("core_client"), server.address, skein=prefix / "bin/skein")
        self.assertEqual((done.returncode, done.stdout), (126, ""))
        self.assertRegex(done.stderr, r"libskein_grpc\.so.*; install the package skein-preload")
        done = run(program_of("core_client"), server.address, skein=prefix / "bin/skein")
        self.assertEqual((done.returncode, done.stdout.split()[0]), (0, "ready"))
        self.assertRegex(done.stderr, r"^skein run: no .*libskein_grpc\.so.*; it stays on TCP; install .*skein-preload.*\n$")

    def test_options_the_environment_and_what_is_preloaded_already_hold(self):
        self.assertEqual(run(*SHOW).stdout, f"prefer {probes.preload_library()}\n")
        self.assertEqual(run("--shm", "off", *SHOW).stdout, f"prefer off {probes.preload_library()}\n")
        done = run(*SHOW, SKEIN_GRPC="require", LD_PRELOAD=str(program_of("libearly_library.so")))
        self.assertTrue(done.stdout.startswith(f"require {probes.preload_library()}:"), done)
        self.assertIn("libearly_library.so", done.stdout)

    def test_each_word_behind_the_program_is_the_programs(self):
        words = ["--shm", "off", "--help", "-n", "--", "--require=", "[a,b]", "", "run", "++"]
        for separator in ((), ("--",)):
            done = run("--shm", "auto", *separator, "sh", "-c", 'printf "%s\\n" "$@"', *words)
            self.assertEqual((done.stdout.splitlines(), done.stderr), (words[1:], ""), "sh takes one for its own name")

    def test_the_exit_status_is_the_programs(self):
        self.assertEqual(run("sh", "-c", "exit 7").returncode, 7)


class InTheWay(ProcessTest):
    def assert_refused(self, done, words):
        self.assertEqual((done.returncode, done.stdout), (126, ""))
        self.assertRegex(done.stderr, rf"^skein run: refused: [^\n]*{words}[^\n]*cannot be kept; \w[^\n]*\n$")

    def assert_warned(self, done, words):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, rf"^skein run: [^\n]*{words}[^\n]*it stays on TCP\n")

    def test_each_kind_is_said_and_is_refused_where_skein_is_required(self):
        kinds = {"own_grpc": "own inside", "static_program": "statically", "old_client": r"libgrpc\.so\.10"}
        for program, words in kinds.items():
            with self.subTest(program):
                self.assert_warned(run(program_of(program)), words)
                self.assert_refused(run("--require", program_of(program)), words)
                self.assert_refused(run(program_of(program), SKEIN_GRPC="require"), words)

    def test_nothing_is_preloaded_into_a_program_for_another_c_library_which_might_not_start_then(self):
        other = self.scratch() / "program"
        other.write_bytes(program_of("core_client").read_bytes().replace(b"/ld-linux", b"/xd-linux", 1))
        other.chmod(0o755)
        done = run("-n", other)
        self.assertEqual(done.returncode, 0)
        self.assertIn("for another C library", done.stdout)
        self.assertIn("SKEIN_GRPC=prefer\n", done.stdout)
        self.assertNotIn("LD_PRELOAD", done.stdout)

    def test_unsecure_is_refused(self):
        self.assert_refused(run("--require", program_of("core_client_unsecure"), "127.0.0.1:1"), "libgrpc_unsecure")

    @unittest.skipUnless(os.geteuid() == 0, "only root can give programs privileges")
    def test_setuid_is_refused_to_others_for_the_dynamic_linker_preloads_nothing_then(self):
        folder = pathlib.Path("/tmp") / f"skein-run-{os.getpid()}"
        folder.mkdir(0o755)
        self.addCleanup(shutil.rmtree, folder)
        for file in (probes.tool("skein"), probes.preload_library(), whole_library(), "/bin/sh"):
            shutil.copy(file, folder)
        (folder / "bin").mkdir(0o755)
        (folder / "lib").mkdir(0o755)
        for name in ("libskein_grpc_preload.so", "libskein_grpc.so.1"):
            shutil.move(folder / name, folder / "lib" / name)
        shutil.move(folder / "skein", folder / "bin/skein")
        (folder / "sh").chmod(0o4755)
        show = [folder / "sh", "-c", "cat /proc/$$/maps | grep -c libskein_grpc_preload"]
        as_nobody = {"skein": folder / "bin/skein", "prefix": probes.AS_NOBODY}
        self.assert_refused(run("--require", *show, **as_nobody), "setuid")
        done = run(*show, **as_nobody)
        self.assertIn("setuid", done.stderr)
        self.assertEqual(done.stdout, "0\n")  # so it was true
        (folder / "sh").chmod(0o755)
        self.assertNotEqual(run("--require", *show, **as_nobody).stdout, "0\n")

    def test_a_line_says_that_more_cannot_be_seen_only_where_skein_is_required(self):
        self.assertEqual(run("true").stderr, "")
        self.assertIn("cannot be seen", run("--require", "true").stderr)
        self.assertIn("cannot be seen", run("--verbose", "true").stderr)


class Usage(unittest.TestCase):
    def test_a_dry_run_starts_nothing(self):
        done = run("-n", "--require", "sh", "-c", "echo started")
        self.assertEqual(done.returncode, 0)
        self.assertIn("SKEIN_GRPC=require\n", done.stdout)
        self.assertIn(f"LD_PRELOAD={probes.preload_library()}\n", done.stdout)
        self.assertNotIn("started", done.stdout)
        self.assertEqual(run("-n", "--require", program_of("own_grpc")).returncode, 126)

    def test_no_such_program_and_none_that_can_be_executed(self):
        self.assertEqual(run("/no/such/program").returncode, 127)
        self.assertEqual(run("no-such-program").returncode, 127)
        self.assertEqual(run("/etc/passwd").returncode, 126)

    def test_wrong_words_are_told_what_is_right(self):
        done = run("--requre", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean --require?", done.stderr)
        contradiction = run("--require", "--mode=off", "true")
        self.assertEqual(contradiction.returncode, 2)
        self.assertIn("--require and --mode=off contradict each other", contradiction.stderr)
        verb = subprocess.run([probes.tool("skein"), "rnu"], capture_output=True, text=True, check=False)
        self.assertEqual(verb.returncode, 2)
        self.assertIn("did you mean run?", verb.stderr)

    def test_help(self):
        done = run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("Usage: skein run", done.stdout)
