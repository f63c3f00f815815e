"""Functions of tests/vm/guest/lib.sh, for the Python scripts in guests."""

import json
import os
import pathlib
import re
import subprocess
import time

from skeintest import loads

# Programs are loaded from the host's disk, and the host may have other things to do.
loads.START_PATIENCE = 90

ROLE = os.environ["VM_ROLE"]
ADDRESS = os.environ["VM_ADDRESS"]
ADDRESS_GID = ":%02x%02x:%02x%02x" % tuple(int(part) for part in ADDRESS.split("."))  # the end of it
PEER = os.environ["VM_PEER"]
RESULTS = pathlib.Path(os.environ["VM_RESULTS"])

# An emulated processor is slow to acknowledge: 0.3 s.
SETTINGS = {"SKEIN_RDMA_TIMEOUT": "16"}

# Options of faults.py and soak.py: calls that an emulated processor can do.
SLOW = ["--flag=--most_bytes=65536", "--flag=--connecting=10s"]

COUNTERS = pathlib.Path("/sys/class/infiniband/rxe0/ports/1/hw_counters")


def shell(command):
    return subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout


def packets():
    """What rxe0 has sent and received."""
    return [int((COUNTERS / name).read_text()) for name in ("sent_pkts", "rcvd_pkts")]


def rdma_objects():
    """What rxe0 has of each kind: queue pairs, regions, ..."""
    return {kind: count for kind, count in json.loads(shell("rdma -j resource show"))[0].items() if kind not in ("ifindex", "ifname")}


# Around outages this kernel's rxe warns of itself.
KNOWN_WARNING = "rxe_comp.c"
COMPLAINTS = re.compile(r"WARNING:|BUG:|Oops|general protection fault|blocked for more than")


def kernel_complaints():
    """What must never be in the kernel's log."""
    return [line for line in shell("dmesg").splitlines() if COMPLAINTS.search(line) and KNOWN_WARNING not in line]


def verdict(results, before):
    """The exit status of faults, `results` of which were as they should be and which rxe0 had `before` of."""
    results = list(results)
    try:
        wait_until(lambda: rdma_objects() == before, 20, "")
    except TimeoutError:
        results.append(False)
        print(f"FAILED: rxe0 had {before}, and has {rdma_objects()} now")
    if kernel_complaints():
        results.append(False)
        print("FAILED: the kernel says", *kernel_complaints(), sep="\n  ")
    print(f"{sum(results)} of {len(results)} as they should be; rxe0 has {rdma_objects()}", flush=True)
    return 0 if all(results) else 1


def give_device():
    """Adds rxe0 if it is not there, and waits until it has this guest's address."""
    gids = pathlib.Path("/sys/class/infiniband/rxe0/ports/1/gids")
    if not gids.exists():
        shell("rdma link add rxe0 type rxe netdev eth0")
    wait_until(lambda: ADDRESS_GID in shell(f"cat {gids}/?"), 10, "the address among the GIDs")


def await_server():
    """Until the server guest's command has ended; if it has failed, the run ends with that."""
    wait_until((RESULTS / "status.server").exists, 120, "the end of the server guest's command")


def tell(word):
    (RESULTS / f"said.{word}").touch()


def said(word):
    return (RESULTS / f"said.{word}").exists()


def wait_until(condition, seconds, what):
    """Files of the other guest are only seen by looking."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds} s")
        time.sleep(0.1)


def wait_for(word, seconds=60):
    """Until the other guest has told that word."""
    wait_until(lambda: said(word), seconds, f"the other guest's '{word}'")


def ask(number, question):
    """The server guest's answer to a question, which its `answer_questions` gets."""
    # Renamed into place, so that nobody reads half of it.
    draft = RESULTS / "draft"
    draft.write_text(question)
    draft.rename(RESULTS / f"question.{number}")
    answer = RESULTS / f"answer.{number}"
    wait_until(answer.exists, 60, f"the answer to '{question}'")
    return answer.read_text()


def answered():
    return len(list(RESULTS.glob("answer.*")))


def wait_for_boot():
    """Until the server guest, whose power has been cut, takes questions again."""
    wait_for(f"up.{answered()}", 300)


def answer_questions(give, seconds):
    """Until the client guest has told 'done'. Goes on where this guest was when its power was cut."""
    end = time.monotonic() + seconds
    number = answered()
    tell(f"up.{number}")
    while not said("done") and time.monotonic() < end:
        question = RESULTS / f"question.{number}"
        if not question.exists():
            time.sleep(0.1)
            continue
        draft = RESULTS / "draft.answer"
        draft.write_text(give(question.read_text()) or "")
        draft.rename(RESULTS / f"answer.{number}")
        number += 1
