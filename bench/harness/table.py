"""Tables, in Markdown and for a terminal."""


def cell(summary, form, least="min", most="max"):
    """'**14.1** (12.9..19.0), x0.10': the median, the spread over rounds, the median ratio, if there is one."""
    median, low, high = (form.format(summary[key]) for key in ("median", least, most))
    ratio = f", x{summary['ratio']['median']:.2f}" if "ratio" in summary else ""
    return f"**{median}** ({low}..{high}){ratio}"


def rows(header, lines):
    return ["| " + " | ".join(line) + " |" for line in (header, ["---"] * len(header), *lines)]


def aligned(header, lines):
    """As rows, for a terminal."""
    widths = [max(map(len, column)) for column in zip(header, *lines, strict=True)]
    return ["  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip()
            for line in (header, *lines)]  # fmt: skip
