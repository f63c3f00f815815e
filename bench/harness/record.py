"""The record of a run: where and when, the results as JSON, on the terminal, on a page."""

import datetime
import json
import sys

from harness import machine

WIDTH = 500  # columns of the JSON: a run of a model is a line, and so are the rounds of a figure


def heading(options, *settings):
    """What each file of measured results begins with; `settings` are names of options."""
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": machine.describe(),
        "settings": {key: getattr(options, key) for key in settings},
    }


def json_text(value, indent=""):
    """As JSON for people, too: a list or an object that fits into a line is one."""
    line = json.dumps(value)
    if len(line) <= WIDTH or not isinstance(value, (dict, list)):
        return line
    inner = f"{indent} "
    if isinstance(value, dict):
        parts = [f"{json.dumps(str(key))}: {json_text(each, inner)}" for key, each in value.items()]
    else:
        parts = [json_text(each, inner) for each in value]
    lines = f",\n{inner}".join(parts)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{inner}{lines}\n{indent}{closing}"


def of(options, measure):
    """As the JSON file has them: those that measure() gives, which it leaves there, or those of an earlier run."""
    if options.results:
        return json.loads(options.results.read_text())
    text = json_text(measure()) + "\n"
    options.out.write_text(text)
    print(f"written: {options.out}", file=sys.stderr)
    return json.loads(text)


def tell(options, measure, text, page=None):
    """Tells the results: text(results) on the terminal, and the page, if --docs asks for it."""
    if options.docs and page is None:
        sys.exit("bench: --docs: no page has the results of this")
    found = of(options, measure)
    print(text(found))
    if options.docs:
        page.write(found, options.docs)
    return found
