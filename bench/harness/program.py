"""A program that prints figures and ends."""

import json
import subprocess
import sys


def output(command, seconds=None, absent=None):
    """What it prints. `seconds`: limit. `absent`: the exit status by which it says that there is nothing to measure; None
    is returned then."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    if done.returncode == absent:
        return None
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def figures(command, seconds=120):
    """What it prints, of JSON."""
    return json.loads(output(command, seconds))
