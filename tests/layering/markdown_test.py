"""Pages are laid out for people who read them in a terminal, and their links lead somewhere."""

import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WIDTH = 100
FENCE = re.compile(r"\s*(```|~~~)")
# bench/ writes what is between these.
FIGURES = re.compile(r"<!-- [^>]*do not edit -->.*?<!-- end of figures -->", re.DOTALL)


def pages():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "*.md"], check=True, capture_output=True, text=True)
    return [ROOT / name for name in listed.stdout.split()]


def outside_fences(text):
    """Lines with their numbers."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield number, line


def without_code(text):
    """Lines with their numbers; neither fenced nor indented code."""
    return ((number, line) for number, line in outside_fences(text) if not line.startswith("    "))


def too_long(text):
    """Numbers of lines of prose that could be wrapped: no tables, no single word."""
    kept_lines = FIGURES.sub(lambda figures: "\n" * figures[0].count("\n"), text)
    return [
        number
        for number, line in without_code(kept_lines)
        if len(line) > WIDTH and not line.startswith("|") and " " in line.strip().removeprefix("- ")
    ]


def read_otherwise_in_the_site(text):
    """Numbers of lines that GitHub takes for a list or a part of one, and the site's Markdown for prose: an item within a
    paragraph; a second paragraph of an item that is indented by less than four."""
    found, before, paragraph = [], "", False
    for number, line in outside_fences(text):
        item = re.match(r"([-*]|\d+\.) ", line)
        if not before.strip():
            paragraph = not item
            if re.match(r" {1,3}\S", line):
                found.append(number)
        elif item and paragraph and not before.startswith("|"):
            found.append(number)
        before = line
    return found


def anchors(text):
    """As GitHub makes them of headings."""
    headings = [re.sub(r"^#+ ", "", line) for _, line in without_code(text) if re.match(r"#+ ", line)]
    shown = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in shown}


def links(text):
    prose = "\n".join(line for _, line in without_code(text))
    return re.findall(r"\]\(([^()\s]+)\)", re.sub(r"`[^`]*`", "", prose))


def leads_nowhere(page, link):
    if re.match(r"\w+:", link):
        return False
    name, _, anchor = link.partition("#")
    target = page if not name else page.parent / name
    if not target.exists():
        return True
    return bool(anchor) and target.suffix == ".md" and anchor not in anchors(target.read_text())


class MarkdownTest(unittest.TestCase):
    def test_prose_is_wrapped(self):
        wide = [f"{page.relative_to(ROOT)}:{number}" for page in pages() for number in too_long(page.read_text())]
        self.assertEqual(wide, [], f"wider than {WIDTH} columns")

    def test_the_site_has_the_same_lists(self):
        found = [(page, number) for page in pages() for number in read_otherwise_in_the_site(page.read_text())]
        other = [f"{page.relative_to(ROOT)}:{number}" for page, number in found]
        self.assertEqual(other, [], "an empty line before a list; further paragraphs of an item indented by four")

    def test_the_site_leads_to_every_page_for_users(self):
        listed = re.findall(r": (\S+\.md)$", (ROOT / "scripts/site/mkdocs.yml").read_text(), re.MULTILINE)
        self.assertEqual(len(listed), len(set(listed)))
        self.assertEqual([name for name in listed if not (ROOT / name).exists()], [])
        ours = {str(page.relative_to(ROOT)) for page in pages()}
        self.assertEqual({name for name in ours if name.startswith("docs/") or "/" not in name} - set(listed), set())

    def test_links_lead_somewhere(self):
        dead = [
            f"{page.relative_to(ROOT)}: {link}"
            for page in pages()
            for link in links(page.read_text())
            if leads_nowhere(page, link)
        ]
        self.assertEqual(dead, [])

    def test_what_counts_as_prose(self):
        wide = "word " * 30
        self.assertEqual(too_long(f"{wide}\n| {wide} |\n    {wide}\n```\n{wide}\n```\n- {wide}"), [1, 7])
        self.assertEqual(too_long("x" * 120), [], "one word cannot be wrapped")
        self.assertEqual(too_long(f"<!-- a, do not edit -->\n{wide}\n<!-- end of figures -->\n{wide}"), [4])

    def test_what_the_site_reads_otherwise(self):
        self.assertEqual(read_otherwise_in_the_site("prose:\n- an item\n\n- another\n  goes on\n- a third"), [2])
        self.assertEqual(read_otherwise_in_the_site("- an item\n\n  goes on\n\n    as it should\n- next"), [3, 6])

    def test_what_counts_as_a_link(self):
        text = "# One `two`: three\n[a](b.md#one-two-three), `[no](code.md)`"
        self.assertEqual(anchors(text), {"one-two-three"})
        self.assertEqual(links(text), ["b.md#one-two-three"])
