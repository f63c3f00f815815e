"""Words that users and newcomers read: those of the field, where we once had our own, and sentences that name who acts."""

import pathlib
import re
import subprocess
import unittest

from markdown_test import FIGURES, without_code

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Ours, and the field's.
RETIRED = {
    "a mirror": "a staging buffer",
    "attention": "notification suppression",
    "bell": "notification",
    "breach": "protocol error",
    "caretaker": "background progress thread",
    "census": "link statistics",
    "doorbell": "wakeup (a NIC's doorbell is one)",
    "lifeline": "liveness connection",
    "pulled": "read by the peer; rendezvous",
    "room": "free space; wait set",
    "respite": "retry delay",
    "seat": "poller role",
    "settle time": "retry delay",
    "thought": "sampling window",
    "ticket": "waiter",
    "told apart": "distinguished",
    "wish": "pending request",
}
ALLOWED = {
    # NICs have doorbells, and so have models of them.
    "doorbell": r"docs/(flock-sim|service-sim|durable-performance)\.md|bench/(sim|durable)/README\.md|core/(fabric|durable/flush)/",
    "pulled": r"core/wire/FORMAT\.md",  # an item's name there
    # Classes have these names yet.
    "seat": r"grpc_transport/event_engine/",
}
# Names of members and constants that programs write, and the field's: max_calls, retry_delay.
RETIRED_MEMBERS = re.compile(r"\b(most_\w+|kMost\w+|\w+_room|settle_\w+)\b")
# Names of our classes and files that have others now.
RETIRED_NAMES = re.compile(r"\b(FlushWhatTheDeviceWillNot|Forsake|OwnServer|k?Respite|respite|ToldApart|told_apart|WithFirstByte)\b")
# rdma_retry_delay had this name, and what users copy from names options.
OLD_OPTION = re.compile("rdma_" "settle_time", re.IGNORECASE)
OPTION_TEXTS = re.compile(r"\.(md|py|sh)$|^packaging/|^run$")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
# "Who asks later is told ...": the subject is a clause. What ends with a question mark is a question.
CLAUSE = re.compile(r"(?:^|[.:;] |\| )(?:Who|Whoever|What|Whatever)\s[^.?|]*[.|]|[;:|] (?:who|whoever)\s[^.?|]*[.|]")


def prose(text):
    """Of a page, without code, headings and what programs have written."""
    lines = [line for _, line in without_code(FIGURES.sub("", text)) if not line.startswith("#")]
    return re.sub(r"`[^`]*`", "", "\n".join(lines))


def comments(source):
    """With an empty line for each that has none."""
    return "\n".join(line.partition("//")[2].strip() for line in source.split("\n"))


def strings(source):
    return "\n\n".join(STRING.findall(re.sub(r"^#include .*", "", source, flags=re.MULTILINE)))


def here_document(script):
    return re.search(r"<<'HELP'\n(.*?)\nHELP", script, re.DOTALL)[1].replace("\n", "\n\n")


# These layers still have names of their own for the same things; their pages and messages follow when the names go.
OWN_NAMES = r"core/(channel|coalesce|link|rpc|stream)/"
# What a user or a newcomer reads: pages, the comments of installed headers, the help of the skein command and of ./run,
# errors and log lines.
TEXTS = [
    (rf"^(?!{OWN_NAMES}).*\.md$", prose),
    (r"^include/skein/.*\.h$", comments),
    (rf"^(?!{OWN_NAMES})(bench|core|examples|grpc_transport|thrift_transport|tools)/.*\.(cc|h)$", strings),
    (r"^run$", here_document),
]
# Programmers of Skein read these as well; their sentences are not checked.
COMMENTS = [(rf"^(?!{OWN_NAMES})(core|grpc_transport|thrift_transport|tools)/.*\.(cc|h)$", comments)]


def files():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], check=True, capture_output=True, text=True)
    return [name for name in listed.stdout.split() if (ROOT / name).is_file()]


def texts(kinds):
    for name in files():
        for pattern, extract in kinds:
            if re.search(pattern, name):
                yield name, extract((ROOT / name).read_text())


def retired(text):
    return [word for word in RETIRED if re.search(rf"\b{word}(?:e?s)?\b", text, re.IGNORECASE)]


def clauses(text):
    """Sentences, and rows of tables, whose subject is one."""
    parts = (" ".join(part.split()) for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.) )", text))
    return [found[0] for part in parts for found in CLAUSE.finditer(re.sub(r"^([-*]|\d+\.) (\*[^*]+\* )?", "", part))]


class WordsTest(unittest.TestCase):
    def test_are_the_fields(self):
        found = [(name, word) for name, text in texts([*TEXTS, *COMMENTS]) for word in retired(text)]
        left = [f"{name}: {word}: {RETIRED[word]}" for name, word in found if not re.match(ALLOWED.get(word, "$"), name)]
        self.assertEqual(left, [])

    def test_names_are_the_fields(self):
        public = {name: RETIRED_MEMBERS for name in files() if name.startswith("include/")}
        ours = {name: RETIRED_NAMES for name in files() if name.endswith((".h", ".cc", ".md", "CMakeLists.txt"))}
        found = [(name, match[0]) for names in (public, ours) for name, pattern in names.items()
                 for match in pattern.finditer((ROOT / name).read_text())]
        self.assertEqual(found, [])

    def test_the_option_has_one_name(self):
        found = [name for name in files() if OPTION_TEXTS.search(name) and OLD_OPTION.search((ROOT / name).read_text())]
        self.assertEqual(found, [])

    def test_sentences_name_who_acts(self):
        self.assertEqual([f"{name}: {clause}" for name, text in texts(TEXTS) for clause in clauses(text)], [])

    def test_each_kind_of_text_is_read(self):
        kinds = [*TEXTS, *COMMENTS]
        read = list(texts(kinds))
        words = ("shared memory", "Init", "there is no such mode", "the tests whose names match", "less a name in the directory")
        for kind, word in zip(kinds, words, strict=True):
            found = [text for name, text in read if re.search(kind[0], name)]
            self.assertTrue(any(word in text for text in found), kind)

    def test_what_is_found(self):
        self.assertEqual(retired("The Caretaker polls.\nTwo seats, two breaches; a bellow, a classroom."), ["breach", "caretaker", "seat"])
        self.assertEqual(RETIRED_MEMBERS.findall("most_calls kMostCalls reply_room settle_time; almost_all, most, room"),
                         ["most_calls", "kMostCalls", "reply_room", "settle_time"])
        self.assertEqual(prose("# Rooms\n`room`\n    room\n<!-- a, do not edit -->room<!-- end of figures -->\n"), "\n\n")
        self.assertEqual(comments("int a;  // one\n// two\nint b;\n// three"), "one\ntwo\n\nthree")
        for text in ("Who asks later is told so.", "A caller\nwaits; who\nwaits sleeps.", "- *One.* What came is lost.", "| x | who asks |"):
            self.assertEqual(len(clauses(text)), 1, text)
        for text in ("Who is it? What is lost?", "The caller knows who waits. It says what it is.", "It has two: what ran, and when."):
            self.assertEqual(clauses(text), [], text)
