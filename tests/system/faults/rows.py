"""The results of one fault, repeated: how calls ended, how they may end, what processes hold."""

import collections
import dataclasses
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from skeintest import kernel, loads  # noqa: E402
from skeintest.child import Silence  # noqa: E402
from skeintest.kernel import await_true  # noqa: E402

LATEST_MS = 2000  # behind a deadline
STANDSTILL_MS = 200  # that is worth a word
LONG_STANDSTILL_MS = 500  # that calls may not outlive
SLACK = 2  # descriptors that gRPC's pollers come and go with
# Of links over RDMA, of which there are two where two connections began at once.
MORE_SLACK = {"queue pairs": 2, "regions": 16, "descriptors": 6}


@dataclasses.dataclass
class Row:
    """What has come of one fault, many times."""

    title: str
    path: str = ""  # that calls must go over; empty: not looked at
    beside: str = ""  # that neighbours' calls must go over, if it is another
    alone: bool = False  # there are no neighbours
    silent: set = dataclasses.field(default_factory=set)  # what calls may end with where the machine stood still for long
    allowed: set = dataclasses.field(default_factory=set)  # what calls may end with, beside loads.FINE
    slack: int = SLACK  # descriptors and mappings that who lives through it may have more
    patience: float = 10  # seconds until they are given back
    times: int = 0
    recoveries: list = dataclasses.field(default_factory=list)  # seconds
    calls: loads.Sum = dataclasses.field(default_factory=loads.Sum)
    neighbours: loads.Sum = dataclasses.field(default_factory=loads.Sum)
    last: loads.Sum = dataclasses.field(default_factory=loads.Sum)  # of everybody, when all was over
    standstill: loads.Standstill = dataclasses.field(default_factory=loads.Standstill)
    remark: str = ""
    problems: list = dataclasses.field(default_factory=list)

    def text(self):
        worst = max(self.recoveries, default=0)
        usual = statistics.median(self.recoveries) if self.recoveries else 0
        statuses = ", ".join(f"{name} {count}" for name, count in sorted(self.calls.statuses.items()))
        return (
            f"{self.title:32} {self.times:5} times; again after {usual:.2f} s, at most {worst:.2f} s; {statuses}; latest "
            f"{self.calls.late_ms:.0f} ms behind its deadline; neighbours {sum(self.neighbours.statuses.values())} calls, latest "
            f"{self.neighbours.late_ms:.0f} ms; {self.remark}{self.stood_still()}"
            f"{'as it should be' if not self.problems else 'FAILED: ' + '; '.join(self.problems)}"
        )

    def stood_still(self):
        ms = self.standstill.ms
        return f"the machine stood still for up to {ms:.0f} ms; " if ms > STANDSTILL_MS else ""


def await_calls(client, row, place=0, forgiven=0.0, to=None):
    """Until a call that began after now has succeeded; the reports on the way are added up, as the row's calls or `to` others.
    How long it took. `forgiven`: seconds that a call may be late without its being anybody's fault."""
    start = time.monotonic()
    calls = row.calls if to is None else to
    fresh = 0
    while fresh < 3:  # a report may tell of what had ended before
        report = client.report()
        excuse(report[place], forgiven)
        if calls.add(report[place]) > 0:
            fresh += 1
        elif report[place]["statuses"]:  # or none has ended
            fresh = 0
        for other, beside in enumerate(report):
            if other != place:
                row.neighbours.add(beside)
        if time.monotonic() - start > 60:
            raise Silence("no call succeeds any more")
        time.sleep(0.01)
    return time.monotonic() - start


def excuse(report, seconds):
    """Calls may be late by so much."""
    report["late_ms"] = max(0.0, report["late_ms"] - 1000 * seconds)
    return report


def await_neighbour(client, row):
    await_calls(client, row, to=row.neighbours)


def judge(row, recovery):
    """What is wrong with what the calls of a row have come to."""
    fine = loads.FINE | (row.silent if row.standstill.ms > LONG_STANDSTILL_MS else set())
    strange = row.calls.other_than(fine | row.allowed)
    disturbed = row.neighbours.other_than(fine)
    if strange:
        row.problems.append(f"calls ended with {row.calls.reasons(strange)}")
    if disturbed:
        row.problems.append(f"neighbours' calls ended with {row.neighbours.reasons(disturbed)}")
    late = row.last.other_than(fine | row.allowed)
    if late:
        row.problems.append(f"in the end calls ended with {row.last.reasons(late)}")
    for whose, path in ((row.calls, row.path), (row.neighbours, row.beside or row.path), (row.last, row.path)):
        if path and whose.over_other_than(path):
            row.problems.append(f"calls went over {whose.paths}")
        if whose.wrong:
            row.problems.append(f"{whose.wrong} wrong answers: {whose.what}")
        if whose.late_ms > LATEST_MS + row.standstill.ms:
            row.problems.append(f"a call ended {whose.late_ms:.0f} ms after its deadline")
    slow = [seconds for seconds in row.recoveries if seconds > recovery + row.standstill.ms / 1000]
    if slow:
        row.problems.append(f"{len(slow)} recoveries took more than {recovery:g} s, the longest {max(slow):.1f} s")
    if not row.alone and sum(row.neighbours.statuses.values()) == 0:
        row.problems.append("no neighbour called")


def settled(program, mappings=0):
    """What it holds, when two looks agree, and there are so many mappings."""
    looks = [kernel.held(program.pid)]

    def same_again():
        looks.append(kernel.held(program.pid))
        return looks[-1] == looks[-2] and looks[-1]["mappings"] >= mappings

    await_true(same_again, 15, 0.5)
    return looks[-1]


def check_holdings(row, program, before):
    more = MORE_SLACK if "queue pairs" in before else {}
    bound = set(before) - {"threads", "memfds"}  # gRPC's pools of threads breathe; no memfd stays open

    def returned():
        now = kernel.held(program.pid)
        return all(now[what] <= before[what] + row.slack + more.get(what, 0) for what in bound)

    if not await_true(returned, row.patience, 0.2):
        kind = type(program).__name__.lower()
        kinds = collections.Counter(target.partition(":")[0] for target in kernel.descriptors(program.pid))
        row.problems.append(f"a {kind} held {before}, and now {kernel.held(program.pid)}: {dict(kinds)}")
