"""What is measured in virtual machines of tests/vm: from one to another, or in one."""

import json
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def two(name, arguments, seconds, processors=2):
    """What guest/NAME.sh, run in both guests, has left in results.json. `seconds`: limit for all of it. `processors`: of
    each guest."""
    script = _script(name, arguments)
    return json.loads(_run(name, seconds, ["-c", str(processors), "-s", shlex.join(script)], script))


def one(name, arguments, seconds, options):
    """The lines that guest/NAME.sh has left in results.json. `options`: more of vm.sh's."""
    return _run(name, seconds, options, _script(name, arguments)).splitlines()


def _script(name, arguments):
    return [str(ROOT / "tests/vm/guest" / f"{name}.sh"), *arguments]


def _run(name, seconds, options, script):
    command = [str(ROOT / "tests/vm/vm.sh"), "-n", name, "-t", str(seconds), *options, "--", *script]
    done = subprocess.run(command, stdout=sys.stderr, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: the guests' exit status was {done.returncode}")
    return (ROOT / "build/vm/results" / name / "results.json").read_text()
