"""One fuzz target, built with libFuzzer: where its files are, and a run of it."""

import dataclasses
import os
import pathlib
import re
import subprocess

# No input may cost more: no peer's few bytes keep a process busy, or make it take what a length field says.
LIMITS = ("-timeout=10", "-rss_limit_mb=2048", "-malloc_limit_mb=256")
KEPT = re.compile(r"Test unit written to (.+)$", re.MULTILINE)
# Of the links' targets, to weigh inputs by how rare what they reach is takes half of the time.
SCHEDULE = "-entropic=0"
# AddressSanitizer never gets back the frames on its own stack that exceptions have passed, and looks for free ones among them
# more and more: nine tenths of the time of who throws for most inputs.
THROWING = {"thrift_bytes": {"ASAN_OPTIONS": "detect_stack_use_after_return=0"}}
PROGRESS = re.compile(r"^#\d+\s.* cov: (\d+) .* corp: (\d+)/", re.MULTILINE)


class Target:
    def __init__(self, name, build):
        self.name = name
        self.program = build / f"tests/fuzz/fuzz_{name}"
        self.committed = pathlib.Path(__file__).with_name("corpus") / name
        self.found = build / "corpus" / name
        self.crashes = build / "crashes" / name
        self.log = build / "logs" / f"{name}.log"
        self.environment = {**os.environ, **THROWING.get(name, {})}
        for folder in (self.committed, self.found, self.crashes, self.log.parent):
            folder.mkdir(parents=True, exist_ok=True)

    def run(self, *arguments):
        """Its exit status, and the seconds of a processor that it took; what it says goes into its log."""
        with self.log.open("w", encoding="utf-8") as log:
            program = subprocess.Popen([self.program, *map(str, arguments)], stdout=log, stderr=subprocess.STDOUT,
                                       stdin=subprocess.DEVNULL, env=self.environment)
            _, status, used = os.wait4(program.pid, 0)
            program.returncode = os.waitstatus_to_exitcode(status)
            return program.returncode, used.ru_utime + used.ru_stime


@dataclasses.dataclass(frozen=True)
class Result:
    target: Target
    executions: int
    a_second: int
    corpus: int  # files
    edges: int
    processor_seconds: float
    crashes: list
    failed: bool


def figures_in(log):
    """What libFuzzer says of a run: at its end, and now and then."""
    def statistic(name):
        found = re.search(rf"^stat::{name}:\s+(\d+)$", log, re.MULTILINE)
        return int(found.group(1)) if found else 0

    progress = PROGRESS.findall(log)
    edges, corpus = progress[-1] if progress else (0, 0)
    return {"executions": statistic("number_of_executed_units"), "a_second": statistic("average_exec_per_sec"),
            "corpus": int(corpus), "edges": int(edges)}


def fuzz(target, seconds):
    """Until the time is over or an input fails, which is then among the crashes."""
    target.run(f"--write-seeds={target.found}")
    status, used = target.run(f"-max_total_time={seconds}", "-print_final_stats=1",
                              f"-artifact_prefix={target.crashes}/", SCHEDULE, *LIMITS, target.found, target.committed)
    log = target.log.read_text(encoding="utf-8", errors="replace")
    return Result(target, **figures_in(log), processor_seconds=used, crashes=KEPT.findall(log), failed=status != 0)
