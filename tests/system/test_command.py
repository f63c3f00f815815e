"""The skein command itself: help of each verb, both spellings of options, JSON for programs, terminals of any width."""

import fcntl
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import tempfile
import termios
import unittest

from skeintest import probes
from skeintest.cases import ProcessTest
from skeintest.child import Child, clean_environment

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERBS = ("run", "doctor", "paths", "top", "breakdown", "record", "metrics", "exporter", "options", "durable")


def on_terminal(columns, *arguments, **variables):
    """The lines that a terminal of that width is sent."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = clean_environment() | variables
    process = subprocess.Popen([probes.tool("skein"), *map(str, arguments)], stdout=theirs, env=environment)
    os.close(theirs)
    output = b""
    try:
        while piece := os.read(ours, 4096):
            output += piece
    except OSError:  # the kernel says so that nobody has the other end any more
        pass
    os.close(ours)
    process.wait(60)
    return output.decode().replace("\r\n", "\n").splitlines()


def columns(table):
    """What is in each column below its heading, without blanks: so the same for any width of it."""
    begins = [heading.start() for heading in re.finditer(r"(?<=\s\s)\S|^\S", table[0])]
    return ["".join("".join(line[begin:end] for line in table[1:]).split())
            for begin, end in zip(begins, [*begins[1:], None])]  # fmt: skip


def completed(*words):
    """What bash offers for the last of these words behind `skein`."""
    script = f"""source {ROOT}/tools/skein/completion.bash
        compopt() {{ :; }}
        COMP_WORDS=(skein "$@") COMP_CWORD=$#
        _skein skein "${{@: -1}}" "${{COMP_WORDS[$# - 1]}}"
        printf '%s\\n' "${{COMPREPLY[@]}}" """
    path = f"{probes.tool('skein').parent}:{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", script, "bash", *words], env=clean_environment() | {"PATH": path},
                          capture_output=True, text=True, timeout=60, check=True)  # fmt: skip
    return done.stdout.split()


class Completion(unittest.TestCase):
    def test_offers_what_help_lists(self):
        self.assertEqual(set(completed("")), {*VERBS, "--help", "--version"})
        self.assertEqual(completed("re"), ["record"])
        self.assertEqual(set(completed("record", "--")), {"--output=", "--seconds=", "--every=", "--max=", "--help"})
        self.assertEqual(completed("run", "--require", "--dry"), ["--dry-run"])
        self.assertEqual(completed("options", "wait_m"), ["wait_mode"])
        self.assertEqual(completed("top", "--q"), ["--queue-pairs"])
        self.assertEqual(completed("durable", "pro"), ["promote"])
        with tempfile.NamedTemporaryFile() as log:
            self.assertEqual(completed("durable", "show", log.name[:-1]), [log.name])


class Help(unittest.TestCase):
    def test_each_verb_says_how_it_is_called(self):
        for verb in VERBS:
            with self.subTest(verb):
                result = probes.skein(verb, "--help")
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertTrue(result.stdout.startswith(f"Usage: skein {verb} [OPTION]..."), result.stdout)
                self.assertRegex(result.stdout, r"(?m)^  -h, --help {10,}\S")
                self.assertRegex(result.stdout, rf"(?s)\nExamples:\n.*  skein {verb}\b")
                self.assertEqual(result.stdout, probes.skein("help", verb).stdout)
                self.assertLessEqual(max(map(len, result.stdout.splitlines())), 80)

    def test_the_command_lists_all_verbs(self):
        result = probes.skein("--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(re.findall(r"(?m)^  (\w+) +\S", result.stdout.partition("Verbs:\n")[2]), list(VERBS))

    def test_lines_are_as_long_as_the_terminal(self):
        self.assertLessEqual(max(map(len, on_terminal(60, "doctor", "--help"))), 60)

    def test_output_that_is_not_taken_is_a_failure(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            self.assertEqual(subprocess.run([probes.tool("skein"), "--help"], stdout=full, check=False).returncode, 1)


class Terminals(ProcessTest):
    def test_tables_are_as_wide_as_the_terminal(self):
        server = self.server(transport=probes.Transport.TCP)
        client = self.client(server.address)
        self.assert_calls_succeed(client, count=1)
        whole = probes.skein("paths", client.pid).stdout
        self.assertGreater(max(map(len, whole.splitlines())), 100, "so long as the reason is, in no terminal")
        self.assertEqual(on_terminal(300, "paths", client.pid), whole.splitlines())
        narrow = on_terminal(90, "paths", client.pid)
        self.assertLessEqual(max(map(len, narrow)), 90)
        self.assertEqual(columns(narrow), columns(whole.splitlines()), "nothing is lost")
        self.assertLessEqual(max(map(len, on_terminal(300, "paths", client.pid, COLUMNS="70"))), 70)

    def test_top_and_options_keep_to_the_terminal(self):
        server = self.server()
        client = self.client(server.address)
        lines = on_terminal(60, "top", "--rounds", 1, "--interval", 0.1, client.pid)
        self.assertEqual(max(len(line.removeprefix("\033[H\033[J")) for line in lines), 60)
        self.assertLessEqual(max(map(len, on_terminal(60, "options"))), 60)
        self.assertGreater(max(map(len, probes.skein("options").stdout.splitlines())), 60)


class Json(ProcessTest):
    def pair_that_traces(self):
        server = self.server()
        client = self.client(server.address, env={"SKEIN_TRACE": "1"})
        self.assert_calls_succeed(client, count=100)
        return server, client

    def read(self, *arguments, status=0):
        result = probes.skein(*arguments)
        self.assertEqual((result.returncode, result.stderr), (status, ""))
        return json.loads(result.stdout)

    def test_paths_prints_json(self):
        server, client = self.pair_that_traces()
        one, other = self.read("paths", "--json", client.pid, server.pid)
        row = probes.skein("paths", client.pid).stdout.splitlines()[1].split()
        self.assertEqual([str(one["process"]), one["framework"], one["role"], one["local"], one["peer"]],
                         [row[0], *row[2:6]])  # fmt: skip
        self.assertEqual(one["path"] + ("+calls" if one["below_http2"] else ""), row[6])
        self.assertEqual((other["process"], other["role"], other["peer"]), (server.pid, "server", one["local"]))

    def test_what_fails_leaves_json(self):
        result = probes.skein("paths", "--json", 2**22 + 1)
        self.assertEqual((result.returncode, json.loads(result.stdout)), (1, []))
        self.assertIn("there is no process", result.stderr)

    def test_metrics_prints_json(self):
        _, client = self.pair_that_traces()
        families = {family["name"]: family for family in self.read("metrics", client.pid, "--json")}
        text = probes.skein("metrics", client.pid).stdout
        self.assertEqual(set(families), set(re.findall(r"(?m)^# TYPE (\S+)", text)))
        sent = [metric for metric in families["skein_messages_sent_total"]["metrics"]
                if metric["labels"]["path"] == "shm"]  # fmt: skip
        self.assertGreaterEqual(sent[0]["value"], 100)

    def test_breakdown_of_a_trace_has_the_figures_of_the_table(self):
        _, client = self.pair_that_traces()
        client.ask("load", 2, 64)
        trace = self.scratch() / "calls.json"
        self.assertEqual(probes.skein("record", "--seconds", 0.5, "--max", 50, "--output", trace, client.pid).returncode, 0)
        table = probes.skein("breakdown", trace).stdout
        for group in self.read("breakdown", "--json", trace):
            for stage in group["stages"]:
                row = rf"(?m)^{re.escape(stage['name'])}  .*\b{stage['count']} +{stage['p50_ns'] / 1000:.2f} "
                self.assertRegex(table, row)

    def test_top_prints_a_line_for_each_look(self):
        _, client = self.pair_that_traces()
        result = probes.skein("top", "--json", "--interval=0.1", "--rounds=2", client.pid)
        self.assertEqual(result.returncode, 0, result.stderr)
        for line in result.stdout.splitlines():
            (activity,) = json.loads(line)
            self.assertEqual((activity["process"], activity["connections"]), (client.pid, {"shm": 1}))
        self.assertEqual(len(result.stdout.splitlines()), 2)

    def test_top_names_one_that_does_not_answer_and_shows_the_others(self):
        server, client = self.pair_that_traces()
        with client.stopped():
            result = probes.skein("top", "--json", "--interval=0.1", "--rounds=2")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(result.stderr.count(f"skein top: process {client.pid} does not answer; is it stopped?\n"), 2)
        looks = [{activity["process"] for activity in json.loads(line)} for line in result.stdout.splitlines()]
        self.assertEqual([(server.pid in look, client.pid in look) for look in looks], [(True, False)] * 2)

    def test_options_prints_json(self):
        (mode,) = self.read("options", "skein.mode", "--json")
        self.assertEqual((mode["name"], mode["variables"]), ("mode", ["SKEIN_GRPC", "SKEIN_THRIFT"]))
        text = probes.skein("options").stdout
        self.assertEqual([option["argument"] for option in self.read("options", "--json")],
                         re.findall(r"(?m)^(skein\.\w+)  ", text))  # fmt: skip

    def test_doctor_prints_json(self):
        def facts(findings):
            return [re.sub(r"\d+", "0", finding) for finding in findings if "self-test" not in finding]

        found = self.read("doctor", "--json")
        printed = re.findall(r"(?m)^(?:ok {4}|warn {2}|FAIL {2})(.*)", probes.skein("doctor").stdout)
        self.assertEqual(facts(finding["fact"] for finding in found), facts(printed))
        self.assertEqual({finding["verdict"] for finding in found} - {"ok", "warn"}, set())


class Durable(ProcessTest):
    """What it says to who does not get far; replicas that do, and are promoted: test_replica_kills.py."""

    def refused(self, *words, environment=None):
        result = probes.skein("durable", *words, env=clean_environment() | (environment or {}))
        self.assertEqual((result.returncode, result.stdout), (1, ""), words)
        return result.stderr

    def test_a_file_that_cannot_be_a_log_is_named_at_once(self):
        folder = self.scratch()
        replica = ("replica", "--listen", "127.0.0.1:0")
        self.assertIn("no/such/: No such file or directory", self.refused(*replica, folder / "no/such/log"))
        (folder / "small").write_text("abc")
        for words in (replica, ["show"], ["promote"]):
            self.assertIn("small is no redo log", self.refused(*words, folder / "small"))
        (folder / "large").write_text("abc" * 10000)
        (folder / "large").chmod(0o644)
        said = self.refused("show", folder / "large")
        self.assertIn("large is no redo log", said)
        self.assertNotIn("chmod", said)
        (folder / "empty").touch()
        self.assertIn("empty is empty: there is no log in it yet", self.refused("show", folder / "empty"))
        self.assertIn("there is no file", self.refused("show", folder / "none"))

    def test_a_replica_looks_at_its_variables(self):
        words = ("replica", "--listen", "127.0.0.1:0", self.scratch() / "log")
        self.assertIn('SKEIN_SHM is "perhaps"', self.refused(*words, environment={"SKEIN_SHM": "perhaps"}))
        with Child([probes.tool("skein"), "durable", *words], clean_environment() | {"SKEIN_SHN": "off"}) as replica:
            self.assertIn("listens on", replica.line())
            self.assertIn("SKEIN_SHN (did you mean SKEIN_SHM?)", replica.log())

    def test_a_log_whose_replica_runs_is_not_promoted(self):
        log = self.scratch() / "log"
        log.write_bytes(bytes(1 << 15))
        log.chmod(0o600)
        with log.open() as running:
            fcntl.flock(running, fcntl.LOCK_EX)
            self.assertIn("stop the server or replica that has it", self.refused("promote", log))


class Words(ProcessTest):
    def test_an_option_is_one_word_or_two(self):
        client = self.client(self.server().address)
        self.assert_calls_succeed(client, count=1)
        for words in (["--rounds=1", "--interval=0.1"], ["--rounds", "1", "--interval", "0.1"]):
            result = probes.skein("top", *words, client.pid)
            self.assertEqual((result.returncode, result.stderr), (0, ""), words)

    def test_an_option_of_skein_has_three_names(self):
        shm = probes.skein("options", "shm").stdout
        self.assertTrue(shm.startswith("skein.shm  (SKEIN_SHM)\n"), shm)
        for name in ("skein.shm", "SKEIN_SHM"):
            self.assertEqual(probes.skein("options", name).stdout, shm)
        for name in ("SKEIN_GRPC", "SKEIN_THRIFT", "SKEIN_MODE"):
            self.assertTrue(probes.skein("options", name).stdout.startswith("skein.mode  (SKEIN_GRPC, SKEIN_THRIFT)\n"))

    def test_a_wrong_call_is_refused_with_the_verbs_help(self):
        for words, why in (
            (["breakdown", "--evry", "2", "1"], "skein breakdown: unknown option '--evry'; did you mean --every?"),
            (["record", "1"], "skein record: where to? --output FILE"),
            (["top", "--rounds"], "skein top: --rounds needs a value"),
            (["top", "--interval", "0"], "--interval is '0', but must be a number of seconds from 0.1 to 3600"),
            (["record", "--max", "30001", "-o", "x", "1"], "must be a number of calls from 1 to 30000"),
            (["options", "ring_byte"], "did you mean ring_bytes?"),
            (["options", "skein.ring_byte"], "did you mean ring_bytes?"),
            (["options", "SKEIN_RING_BYTE"], "no option ring_byte; did you mean ring_bytes?"),
            (["optoins"], "did you mean options?"),
            ([], "Usage: skein VERB"),
        ):
            result = probes.skein(*words)
            self.assertEqual((result.returncode, result.stdout), (2, ""), words)
            self.assertIn(why, result.stderr)

    def test_words_that_cannot_be_written_are_a_failure(self):
        for words in (["options"], ["options", "shm"], ["paths", "--json"], ["doctor", "--help"], ["--version"]):
            with self.subTest(words), open("/dev/full", "w", encoding="utf-8") as full:
                result = subprocess.run([probes.tool("skein"), *words], stdout=full, stderr=subprocess.PIPE, text=True,
                                        timeout=60, check=False)  # fmt: skip
                self.assertEqual(result.returncode, 1)

    def test_a_record_without_a_place_is_refused_at_once(self):
        result = probes.skein("record", "--seconds=3600", "-o", "/nowhere/calls.json", os.getpid())
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, "skein record: cannot write /nowhere/calls.json: No such file or directory\n")

    def test_a_record_that_failed_leaves_no_file(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder) / "calls.json"
            self.assertEqual(probes.skein("record", "-o", trace, os.getpid()).returncode, 1)
            self.assertFalse(trace.exists())
            trace.write_text("kept", encoding="utf-8")
            self.assertEqual(probes.skein("record", "-o", trace, os.getpid()).returncode, 1)
            self.assertEqual(trace.read_text(encoding="utf-8"), "kept")

    def test_the_command_links_no_grpc(self):
        needed = subprocess.run(["ldd", probes.tool("skein")], capture_output=True, text=True, check=True).stdout
        self.assertNotRegex(needed, r"libgrpc|libprotobuf")


if __name__ == "__main__":
    unittest.main()
