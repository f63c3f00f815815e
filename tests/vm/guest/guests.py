"""What Python scripts in guests have of guest/lib.sh."""

import os
import pathlib
import time

ROLE = os.environ["VM_ROLE"]
ADDRESS = os.environ["VM_ADDRESS"]
PEER = os.environ["VM_PEER"]
RESULTS = pathlib.Path(os.environ["VM_RESULTS"])

# An emulated processor is slow to negotiate.
SETTINGS = {"SKEIN_NEGOTIATION_TIMEOUT": "20000"}


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
