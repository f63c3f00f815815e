"""One fuzz target, built with libFuzzer: where its files are, and a run of it."""

import dataclasses
import pathlib
import re
import subprocess

# No input may cost more: no peer's few bytes keep a process busy, or make it take what a length field says.
LIMITS = ("-timeout=10", "-rss_limit_mb=2048", "-malloc_limit_mb=256")
KEPT = re.compile(r"Test unit written to (.+)$", re.MULTILINE)
# Of the links' targets, to weigh inputs by how rare what they reach is takes half of the time.
SCHEDULE = "-entropic=0"
PROGRESS = re.compile(r"^#\d+\s.* cov: (\d+) .* corp: (\d+)/", re.MULTILINE)


class Target:
    def __init__(self, name, build):
        self.name = name
        self.program = build / f"tests/fuzz/fuzz_{name}"
        self.committed = pathlib.Path(__file__).with_name("corpus") / name
        self.found = build / "corpus" / name
        self.crashes = build / "crashes" / name
        self.log = build / "logs" / f"{name}.log"
        for folder in (self.committed, self.found, self.crashes, self.log.parent):
            folder.mkdir(parents=True, exist_ok=True)

    def run(self, *arguments):
        """Its exit status; what it says goes into its log."""
        with self.log.open("w", encoding="utf-8") as log:
            return subprocess.run([self.program, *map(str, arguments)], stdout=log, stderr=subprocess.STDOUT,
                                  stdin=subprocess.DEVNULL, check=False).returncode


@dataclasses.dataclass(frozen=True)
class Result:
    target: Target
    figures: tuple  # executions, a second, files of the corpus, edges
    crashes: list
    failed: bool


def figures_in(log):
    """What libFuzzer says of a run: at its end, and now and then."""
    def statistic(name):
        found = re.search(rf"^stat::{name}:\s+(\d+)$", log, re.MULTILINE)
        return int(found.group(1)) if found else 0

    progress = PROGRESS.findall(log)
    edges, corpus = progress[-1] if progress else (0, 0)
    return statistic("number_of_executed_units"), statistic("average_exec_per_sec"), int(corpus), int(edges)


def fuzz(target, seconds):
    """Until the time is over or an input fails, which is then among the crashes."""
    target.run(f"--write-seeds={target.found}")
    status = target.run(f"-max_total_time={seconds}", "-print_final_stats=1", f"-artifact_prefix={target.crashes}/",
                        SCHEDULE, *LIMITS, target.found, target.committed)
    log = target.log.read_text(encoding="utf-8", errors="replace")
    return Result(target, figures_in(log), KEPT.findall(log), status != 0)
