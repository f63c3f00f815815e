"""What is measured from one virtual machine of tests/vm to another."""

import json
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(name, arguments, seconds, processors=2):
    """What guest/NAME.sh, run in both guests, has left in results.json. `seconds`: limit for all of it. `processors`: of
    each guest."""
    script = [str(ROOT / "tests/vm/guest" / f"{name}.sh"), *arguments]
    command = [str(ROOT / "tests/vm/vm.sh"), "-n", name, "-t", str(seconds), "-c", str(processors)]
    command += ["-s", shlex.join(script), "--", *script]
    done = subprocess.run(command, stdout=sys.stderr, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: the guests' exit status was {done.returncode}")
    return json.loads((ROOT / "build/vm/results" / name / "results.json").read_text())
