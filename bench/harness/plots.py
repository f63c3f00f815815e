"""Line charts as SVG, drawn by matplotlib. Debian's belongs to Debian's Python, and another one may run what measures: so
this is also a program, which draws the charts that it reads as JSON, {file: chart}."""

import json
import subprocess
import sys

DEBIAN_PYTHON = "/usr/bin/python3"  # of the package python3-matplotlib
COLOURS = ("#0b6e99", "#c2410c", "#4d7c0f", "#7e22ce", "#525252")
NEAR = 0.07  # of the axis: labels of values that are nearer to each other would overlap


def chart(title, x_title, y_title, series, log=False, label="{:,}".format, time=False):
    """What draw() draws. `series`: {name: [(x, y), ...]}; `log`: whether y is logarithmic; x is, unless it is `time`;
    `label`: how an x is written."""
    xs = sorted({x for line in series.values() for x, _ in line})
    ticks = None if time else [(x, label(x)) for x in xs]
    return {"title": title, "x": x_title, "y": y_title, "series": series, "log": log, "ticks": ticks}


def bars(title, y_title, groups, series):
    """What draw() draws as bars beside each other. `series`: {name: [(group, y), ...]}."""
    return {"title": title, "y": y_title, "groups": groups, "series": series}


def draw(charts):
    """{path: chart}"""
    text = json.dumps({str(path): drawn for path, drawn in charts.items()})
    subprocess.run([DEBIAN_PYTHON, "-B", __file__], input=text, text=True, check=True)


def number(value, _position=None):
    if value >= 10000:
        return f"{value / 1e6:g}M" if value >= 1e6 else f"{value / 1e3:g}k"
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:g}"


def apart(ticks):
    """Those whose labels have a place, on a logarithmic axis."""
    kept = ticks[:1]
    for x, label in ticks[1:]:
        if (x / kept[-1][0]) >= (ticks[-1][0] / ticks[0][0]) ** NEAR:
            kept.append((x, label))
    return kept


def save_bars(file, chart):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    width = 0.8 / len(chart["series"])
    for place, (name, line) in enumerate(chart["series"].items()):
        values = dict(line)
        axes.bar([group + place * width for group in range(len(chart["groups"]))], [values.get(group, 0) for group in chart["groups"]],
                 width, align="edge", label=name)  # fmt: skip
    axes.set(title=chart["title"], ylabel=chart["y"])
    axes.set_xticks([group + 0.4 for group in range(len(chart["groups"]))], chart["groups"])
    axes.yaxis.set_major_formatter(number)
    finish(figure, axes, file)


def finish(figure, axes, file):
    from matplotlib import pyplot

    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncol=2)
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


def save(file, chart):
    from matplotlib import pyplot, ticker

    if "groups" in chart:
        save_bars(file, chart)
        return

    figure, axes = pyplot.subplots()
    for name, line in chart["series"].items():
        axes.plot(*zip(*line, strict=True), label=name, marker=chart["ticks"] and "o")
    axes.set(title=chart["title"], xlabel=chart["x"], ylabel=chart["y"])
    if chart["log"]:
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,)))
        axes.yaxis.set_minor_locator(ticker.NullLocator())
    else:
        axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(number)
    if chart["ticks"]:
        axes.set_xscale("log")
        axes.set_xticks(*zip(*apart(chart["ticks"]), strict=True))
        axes.xaxis.set_minor_locator(ticker.NullLocator())
    finish(figure, axes, file)


def main():
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({
        "axes.grid": True, "axes.grid.axis": "y", "axes.prop_cycle": matplotlib.cycler(color=COLOURS), "axes.spines.right": False,
        "axes.spines.top": False, "axes.titlesize": 11, "figure.constrained_layout.use": True, "figure.figsize": (5.2, 3.6),
        "font.size": 9, "grid.color": "#dddddd", "legend.frameon": False, "lines.markersize": 4,
        "svg.fonttype": "none", "svg.hashsalt": "skein",  # text stays text; the same figures give the same file
    })  # fmt: skip
    for file, drawn in json.load(sys.stdin).items():
        save(file, drawn)


if __name__ == "__main__":
    main()
