"""The pages of docs/ that have figures, and plots in a folder beside them."""

import dataclasses
import typing

from harness import plots

END = "<!-- end of figures -->"


def written_into(page, text, begin):
    before, found, rest = page.partition(begin)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise SystemExit(f"bench: the page lacks its markers: {begin} ... {END}")
    return f"{before}{begin}\n\n{text}\n\n{END}{after}"


@dataclasses.dataclass(frozen=True)
class Page:
    """What a benchmark writes between markers of a page."""

    name: str  # of a file in docs/
    begin: str  # the first marker; the other one is END
    markdown: typing.Callable  # of the results
    charts: typing.Callable = lambda results: {}  # {name of its file, without .svg: chart}

    def write(self, results, docs):
        """Into the folder `docs`."""
        file = docs / self.name
        file.write_text(written_into(file.read_text(), self.markdown(results), self.begin))
        if charts := self.charts(results):
            folder = docs / file.stem
            folder.mkdir(exist_ok=True)
            plots.draw({folder / f"{name}.svg": chart for name, chart in charts.items()})
