"""The files of the site: every page and picture of the repository, and the sources and folders that pages link to.
Each keeps its place in the tree, so that links between them lead where they lead in the repository."""

import functools
import pathlib
import posixpath
import re
import subprocess

import pygments.lexers
import pygments.util
from mkdocs.structure.files import File, Files

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<=\]\()(?![\w+]+:)[^()\s#]+")  # of a Markdown link, what is before its anchor


class Source(File):
    """A file that is no Markdown, as a page."""

    def is_documentation_page(self):
        return True

    def _get_stem(self):
        return posixpath.basename(self.src_uri)  # with its suffix: main.h is another page than main.cc


class Folder(File):
    """A folder without a README, as a page that lists its files."""


@functools.cache  # each page of a folder asks
def tracked():
    command = ["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
    return {name for name in names if name and (ROOT / name).exists()}


def linked(page):
    """Paths from the root of all that a page links to."""
    links = LINK.findall((ROOT / page).read_text())
    return {posixpath.normpath(posixpath.join(posixpath.dirname(page), link)) for link in links}


def language(name):
    try:
        return pygments.lexers.get_lexer_for_filename(name).aliases[0]
    except pygments.util.ClassNotFound:
        return None


def on_files(files, config):
    names = tracked()
    pages = {name for name in names if name.endswith(".md")}
    targets = set().union(*map(linked, pages))
    folders = {target for target in targets if (ROOT / target).is_dir() and f"{target}/README.md" not in pages}
    listed = {name for name in names if posixpath.dirname(name) in folders and language(name)}
    as_they_are = {name for name in names if name.endswith((".md", ".svg", ".png"))}
    # Data, which is too much for a page, and names without a dot, which MkDocs does not take for a page's.
    as_they_are |= {name for name in targets & names | listed if posixpath.splitext(name)[1] in (".json", "")}

    place = (str(ROOT), config["site_dir"], config["use_directory_urls"])
    made = [File(name, *place) for name in as_they_are]
    made += [Source(name, *place) for name in (targets & names | listed) - as_they_are]
    made += [Folder(f"{folder}/README.md", *place) for folder in folders]
    made.append(File("site.css", str(pathlib.Path(__file__).parent), *place[1:]))
    return Files([file for file in files if not file.abs_src_path.startswith(config["docs_dir"])] + made)


def entries(folder):
    """The lines of a list, in Markdown, of all that a folder has, each with a link if it is a page."""
    below = (name.removeprefix(f"{folder}/") for name in tracked() if name.startswith(f"{folder}/"))
    children = {name.split("/")[0] + "/" * ("/" in name) for name in below}
    return [f"- [{child}]({child})" if language(child) else f"- {child}" for child in sorted(children)]


def on_page_read_source(page, config):
    name = page.file.src_uri
    if isinstance(page.file, Source):
        return f"# {name}\n\n````````{language(name) or 'text'}\n{(ROOT / name).read_text()}\n````````\n"
    if isinstance(page.file, Folder):
        return f"# {posixpath.dirname(name)}\n\n" + "\n".join(entries(posixpath.dirname(name)))
    return None


def on_page_markdown(markdown, page, config, files):
    """MkDocs checks and follows links to files alone: links to a folder lead to its page."""
    if isinstance(page.file, Source):
        return markdown  # code, which may look like a link

    def to_page(link):
        path = posixpath.join(posixpath.dirname(page.file.src_uri), link[0])
        return posixpath.join(link[0], "README.md") if (ROOT / path).is_dir() else link[0]
    return LINK.sub(to_page, markdown)
