"""What Python scripts in guests have of guest/lib.sh."""

import os
import pathlib
import time

ROLE = os.environ["VM_ROLE"]
ADDRESS = os.environ["VM_ADDRESS"]
ADDRESS_GID = ":%02x%02x:%02x%02x" % tuple(int(part) for part in ADDRESS.split("."))  # the end of it
PEER = os.environ["VM_PEER"]
RESULTS = pathlib.Path(os.environ["VM_RESULTS"])

# An emulated processor is slow to negotiate, and to acknowledge: 0.3 s.
SETTINGS = {"SKEIN_NEGOTIATION_TIMEOUT": "20000", "SKEIN_RDMA_TIMEOUT": "16"}


COUNTERS = pathlib.Path("/sys/class/infiniband/rxe0/ports/1/hw_counters")


def packets():
    """What rxe0 has sent and received."""
    return [int((COUNTERS / name).read_text()) for name in ("sent_pkts", "rcvd_pkts")]


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


def answer_questions(give, seconds):
    """Until the client guest has told 'done'."""
    end = time.monotonic() + seconds
    number = 0
    while not said("done") and time.monotonic() < end:
        question = RESULTS / f"question.{number}"
        if not question.exists():
            time.sleep(0.1)
            continue
        draft = RESULTS / "draft.answer"
        draft.write_text(give(question.read_text()) or "")
        draft.rename(RESULTS / f"answer.{number}")
        number += 1
