#!/usr/bin/env python3
"""Prints deb-src entries (deb822) for the distribution's own archives, made from the machine's deb entries."""

import pathlib
import re
import sys


def stanzas(text):
    """The stanzas of a .sources file, as dicts with lower-case field names."""
    stanza, field = {}, None
    for line in text.splitlines() + [""]:
        if line.startswith("#"):
            continue
        if not line.strip():
            if stanza:
                yield stanza
            stanza, field = {}, None
        elif line[0] in " \t" and field:
            stanza[field] += "\n" + line
        elif ":" in line:
            name, value = line.split(":", 1)
            field = name.strip().lower()
            stanza[field] = value.strip()


def one_line_entries(text):
    """The entries of a .list file, in the shape of stanzas."""
    for line in text.splitlines():
        match = re.match(r"deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)((?:\s+[^\s#]+)*)", line.strip())
        if not match:
            continue
        options, uri, suite, components = match.groups()
        entry = {"types": "deb", "uris": uri, "suites": suite, "components": components.strip()}
        for option in (options or "").split():
            name, _, value = option.partition("=")
            if name.lower() in ("signed-by", "trusted"):
                entry[name.lower()] = value
        yield entry


def source_entries(entries, codename):
    """deb-src stanzas for the suites of the release called codename (CODENAME, CODENAME-security, ...)."""
    for entry in entries:
        if "deb" not in entry.get("types", "").split() or entry.get("enabled", "yes").lower() in ("no", "false", "0"):
            continue
        suites = [s for s in entry.get("suites", "").split() if s == codename or s.startswith(codename + "-")]
        if not suites:
            continue
        lines = ["Types: deb-src", f"URIs: {entry['uris']}", f"Suites: {' '.join(suites)}",
                 f"Components: {entry.get('components', '')}"]
        for field, name in (("signed-by", "Signed-By"), ("trusted", "Trusted")):
            if field in entry:
                lines.append(f"{name}: {entry[field]}")
        yield "\n".join(lines) + "\n"


def machine_entries(root):
    parts = root / "etc/apt/sources.list.d"
    for path in [root / "etc/apt/sources.list", *sorted(parts.glob("*.list"))]:
        if path.is_file():
            yield from one_line_entries(path.read_text())
    for path in sorted(parts.glob("*.sources")):
        yield from stanzas(path.read_text())


def codename_of(root):
    match = re.search(r'^VERSION_CODENAME="?([\w.-]+)', (root / "etc/os-release").read_text(), re.MULTILINE)
    return match.group(1) if match else ""


def main(root=pathlib.Path("/")):
    codename = codename_of(root)
    found = list(source_entries(machine_entries(root), codename))
    if not found:
        sys.exit(f"deb_src: no apt entry of this machine carries the release '{codename}'")
    print("\n".join(found))


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:2]))
