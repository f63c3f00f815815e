#!/usr/bin/python3
"""skein breakdown --json PID | skein-bars FILE

The medians of each table as a bar, all to one scale. The end of FILE's name says what is drawn: .svg, .png or .pdf."""

import argparse
import json
import sys

# Shades of a colour for each kind of work, so that neighbours differ.
COLOURS = {
    "software": ("#4d85cc", "#7ba5da", "#aac5e8"),
    "wire": ("#d9852e", "#e3a463", "#edc497"),
    "handler": ("#40a354", "#73bb82", "#a6d4af"),
    "mixed": ("#9466bd", "#b08fcf", "#cdb8e0"),
}
WIDE_ENOUGH = 0.05  # of the longest bar, for its length to be written into a part


def plain(text, longest):
    """Names are those of other processes."""
    return "".join(c if c.isprintable() else "?" for c in text[:longest]) + "..." * (len(text) > longest)


def parts(group):
    return [(plain(stage["name"], 30), plain(stage["work"], 10), stage["p50_ns"] / 1000) for stage in group["stages"] if stage["part"]]


def title(group):
    whole = sum(length for *_, length in parts(group))
    return f"{plain(group['method'], 80)} over {plain(group['path'], 20)}, seen by the {group['side']}: {whole:.2f} us"


def draw_bar(axes, group, longest):
    left = 0
    for number, (name, work, length) in enumerate(parts(group)):
        colour = COLOURS.get(work, COLOURS["mixed"])[number % 3]
        bar = axes.barh(0, length, left=left, color=colour, label=f"{name} ({work}) {length:.2f}")
        if length >= WIDE_ENOUGH * longest:
            axes.bar_label(bar, [f"{length:.2f}"], label_type="center")
        left += length
    axes.set_title(title(group), loc="left")
    axes.set_xlim(0, longest or 1)
    axes.axis("off")
    if parts(group):
        axes.legend(loc="upper left", bbox_to_anchor=(0, 0), ncol=2, frameon=False, borderaxespad=0, handlelength=1)


def draw(groups, file):
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    # Text stays text, and a name is no formula.
    matplotlib.rcParams.update({"svg.fonttype": "none", "text.parse_math": False, "font.size": 9, "axes.titlesize": 10})
    lines = [2 + (len(parts(group)) + 1) // 2 for group in groups] or [1]
    height = 0.2 * sum(lines) + 0.4 * len(lines)
    figure, rows = pyplot.subplots(len(lines), squeeze=False, figsize=(10, height), layout="constrained")
    rows[0][0].axis("off")
    longest = max((sum(length for *_, length in parts(group)) for group in groups), default=0)
    for group, (axes,) in zip(groups, rows, strict=False):
        draw_bar(axes, group, longest)
    figure.savefig(file, dpi=200)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    options = parser.parse_args()
    try:
        draw(json.load(sys.stdin), options.file)
    except ImportError as error:
        sys.exit(f"skein-bars: {error}: it draws with Debian's python3-matplotlib")
    except (KeyError, TypeError):
        sys.exit("skein-bars: this is not what skein breakdown --json prints")
    except (OSError, ValueError) as error:
        sys.exit(f"skein-bars: {error}")


if __name__ == "__main__":
    main()
