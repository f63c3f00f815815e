"""Benchmarks on simulated time: a seed has one outcome, which is held against a paper's claims."""

import dataclasses
import sys
import typing

from harness import arguments, claims, program, record
from harness.page import Page


@dataclasses.dataclass(frozen=True)
class Model:
    about: str  # what --help says
    name: str  # of the benchmark
    command: tuple  # the program below the build directory, and its flags; it prints {"seed": ..., "runs": [...]}
    claims: tuple
    results: typing.Callable  # claims ask this, made of a run
    page: Page
    recorded: typing.Callable = lambda run: run  # a run as the record keeps it

    def main(self):
        chosen = arguments.parse(self.about, self.name, page=self.page.name, seed=20261,
                               quick="fewer points, less simulated time: do the claims hold")  # fmt: skip
        found = record.tell(chosen, lambda: self._run(chosen), self.page.markdown, self.page)
        broken = list(claims.broken(self.results(found), self.claims, whole=not found.get("quick")))
        for what in broken:
            print(f"bench: {what} (seed {found['seed']})", file=sys.stderr)
        sys.exit(1 if broken else 0)

    def _run(self, chosen):
        name, *flags = self.command
        command = [chosen.build / name, f"--seed={chosen.seed}", *flags, *["--quick"] * chosen.quick]
        found = program.figures(command, seconds=None)
        return {**found, "quick": chosen.quick, "runs": [self.recorded(run) for run in found["runs"]]}
