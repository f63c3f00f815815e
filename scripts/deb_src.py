#!/usr/bin/env python3
"""deb_src.py [--release RELEASE...]: apt entries (deb822) for the distribution's own archives, made from the machine's own.

deb-src entries of the machine's release; or the deb entries of other releases of the same distribution, on the same mirror.
"""

import argparse
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


def entries_of(entries, names):
    """Enabled deb entries that carry a release called one of names, each with its suites (NAME, NAME-security, ...) of that."""
    for entry in entries:
        if "deb" not in entry.get("types", "").split() or entry.get("enabled", "yes").lower() in ("no", "false", "0"):
            continue
        suites = [s for s in entry.get("suites", "").split() if s.split("-")[0] in names]
        if suites:
            yield entry, suites


def stanza_of(entry, kind, suites):
    lines = [f"Types: {kind}", f"URIs: {entry['uris']}", f"Suites: {' '.join(suites)}",
             f"Components: {entry.get('components', '')}"]
    lines += [f"{name}: {entry[name.lower()]}" for name in ("Signed-By", "Trusted") if name.lower() in entry]
    return "\n".join(lines) + "\n"


def source_entries(entries, names):
    """deb-src stanzas for the suites of the release called one of names."""
    for entry, suites in entries_of(entries, names):
        yield stanza_of(entry, "deb-src", suites)


def release_entries(entries, names, releases):
    """deb stanzas for the suites called releases, from where the release called one of names comes from."""
    for entry, suites in entries_of(entries, names):
        if set(suites) & set(names):  # a mirror of security updates alone has no other release's packages
            yield stanza_of(entry, "deb", releases)


def machine_entries(root):
    parts = root / "etc/apt/sources.list.d"
    for path in [root / "etc/apt/sources.list", *sorted(parts.glob("*.list"))]:
        if path.is_file():
            yield from one_line_entries(path.read_text())
    for path in sorted(parts.glob("*.sources")):
        yield from stanzas(path.read_text())


def names_of(root):
    """What apt may call the release of this machine."""
    text = (root / "etc/os-release").read_text()
    match = re.search(r'^VERSION_CODENAME="?([\w.-]+)', text, re.MULTILINE)
    names = [match.group(1)] if match else []
    # Debian's testing and sid share one os-release, which has the codename of testing and no number.
    if re.search(r"^ID=debian$", text, re.MULTILINE) and not re.search(r"^VERSION_ID=", text, re.MULTILINE):
        names += ["testing", "sid", "unstable"]
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path("/"), help="of the machine")
    parser.add_argument("--release", nargs="+", help="other releases, of which packages are wanted")
    options = parser.parse_args()
    names = names_of(options.root)
    entries = machine_entries(options.root)
    if options.release:
        found = list(release_entries(entries, names, options.release))
    else:
        found = list(source_entries(entries, names))
    if not found:
        sys.exit(f"deb_src: no apt entry of this machine carries the release '{' or '.join(names)}'")
    print("\n".join(found))


if __name__ == "__main__":
    main()
