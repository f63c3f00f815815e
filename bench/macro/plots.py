"""Line charts as SVG, with nothing but the standard library."""

import math

WIDTH, HEIGHT = 520, 320
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 34, 96
COLOURS = ("#0b6e99", "#c2410c", "#4d7c0f", "#7e22ce", "#525252")
LABEL_WIDTH = 36


def text(x, y, words, anchor="middle", size=12, extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{extra}>{words}</text>'


def number(value):
    if value >= 10000:
        return f"{value / 1e6:g}M" if value >= 1e6 else f"{value / 1e3:g}k"
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:g}"


def nice_top(value):
    """The least of 1, 2, 5, 10, ... times four steps that reaches the value."""
    scale = 10 ** math.floor(math.log10(value))
    return next(scale * step for step in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10) if scale * step >= value)


class Linear:
    """Numbers from 0 to a round one, in four steps."""

    def __init__(self, values):
        self._top = nice_top(max(values))
        self.ticks = [self._top * step / 4 for step in range(5)]

    def part(self, value):
        return value / self._top


class Logarithmic:
    """Positive numbers from 1, 2 or 5 times a power of ten to another; if they are far apart, from power to power."""

    def __init__(self, values):
        low = math.floor(math.log10(min(values)))
        high = max(math.ceil(math.log10(max(values))), low + 1)
        steps = (1, 2, 5) if high - low <= 3 else (1,)
        ticks = [step * 10.0**power for power in range(low, high) for step in steps] + [10.0**high]
        bottom = max(tick for tick in ticks if tick <= min(values))
        top = min(tick for tick in ticks if tick >= max(values) and tick > bottom)
        self.ticks = [tick for tick in ticks if bottom <= tick <= top]
        self._low, self._span = math.log(bottom), math.log(top / bottom)

    def part(self, value):
        return (math.log(value) - self._low) / self._span


class Axes:
    """x over the given values, logarithmic unless it is time; y by its scale."""

    def __init__(self, xs, scale, label, time):
        self._xs, self._scale, self._label = sorted(set(xs)), scale, label
        self._measure = float if time else math.log
        self._low = self._measure(self._xs[0])
        self._high = max(self._measure(self._xs[-1]), self._low + 1e-9)

    def x(self, value):
        part = (self._measure(value) - self._low) / (self._high - self._low)
        return LEFT + part * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        return HEIGHT - BOTTOM - self._scale.part(value) * (HEIGHT - BOTTOM - TOP)

    def lines(self, x_title, y_title):
        bottom = HEIGHT - BOTTOM
        drawn = [text(WIDTH / 2, bottom + 34, x_title)]
        middle = (TOP + bottom) / 2
        drawn.append(text(14, middle, y_title, extra=f' transform="rotate(-90 14 {middle:.1f})"'))
        for value in self._scale.ticks:
            y = self.y(value)
            drawn.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
            drawn.append(text(LEFT - 6, y + 4, number(value), "end"))
        shown = -math.inf
        for value in self._xs:
            if self.x(value) - shown < LABEL_WIDTH:
                continue
            shown = self.x(value)
            drawn.append(text(shown, bottom + 16, self._label(value), size=11))
        return drawn


def chart(title, x_title, y_title, series, scale=Linear, label="{:,}".format, time=False):
    """`series`: {name: [(x, y), ...]}; `label`: how an x is written; `time`: so many x that they are a line of time. Returns
    an SVG document."""
    points = [point for line in series.values() for point in line]
    axes = Axes([x for x, _ in points], scale([y for _, y in points]), label, time)
    drawn = [text(WIDTH / 2, 20, title, size=14), *axes.lines(x_title, y_title)]
    for index, (name, line) in enumerate(series.items()):
        colour = COLOURS[index % len(COLOURS)]
        path = " ".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in line)
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        drawn += [] if time else [f'<circle cx="{axes.x(x):.1f}" cy="{axes.y(y):.1f}" r="3" fill="{colour}"/>' for x, y in line]
        column, row = index % 2, index // 2
        x, y = LEFT + column * (WIDTH - LEFT) / 2, HEIGHT - 38 + row * 16
        drawn.append(f'<rect x="{x:.1f}" y="{y - 9:.1f}" width="14" height="9" fill="{colour}"/>')
        drawn.append(text(x + 20, y, name, "start"))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" fill="#222">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    )
    return "\n".join([head, *drawn, "</svg>", ""])
