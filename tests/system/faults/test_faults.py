"""Each fault a few times; faults.py has more of them, and tells what must hold."""

import faults
import pytest

from skeintest import loads

FEW = 5


@pytest.mark.parametrize("framework", loads.FRAMEWORKS)
@pytest.mark.parametrize("fault", faults.FAULTS)
def test_calls_end_as_they_may_and_succeed_again(build, fault, framework, pytestconfig):
    times, seed = pytestconfig.option.times or FEW, pytestconfig.option.seed
    words = ["--build", str(build), "--times", str(times), *([] if seed is None else ["--seed", str(seed)])]
    options = faults.parse_arguments(faults.FAULTS, words)
    print(f"--seed={options.seed}")
    assert faults.run(options, framework, "shm", fault, faults.FAULTS)
