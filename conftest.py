"""Options of tests with programs: those of whole processes, of examples."""

import pathlib
import random

import pytest

from skeintest import probes

ROOT = pathlib.Path(__file__).resolve().parent


def pytest_addoption(parser):
    group = parser.getgroup("whole processes")
    group.addoption("--build", type=pathlib.Path, default=ROOT / "build/dev", help="build folder (%(default)s)")
    group.addoption("--transport", choices=[each.value for each in probes.Transport], default="argument",
                    help="how gRPC programs are switched to Skein (%(default)s)")  # fmt: skip
    group.addoption("--grpc", type=lambda text: probes.Grpc(*text.split("/")), default=probes.grpc(),
                    help="VERSION/CORE of the gRPC that the programs have: 1.51.1/29.0.0")  # fmt: skip
    group.addoption("--times", type=int, help="how often each fault happens, where tests count (each has its own default)")
    group.addoption("--seed", type=int, help="of moments that are drawn by lot")


def pytest_configure(config):
    options = config.option
    probes.configure(options.build.resolve(), probes.Transport(options.transport), options.grpc)


@pytest.fixture
def build(pytestconfig):
    return pytestconfig.option.build.resolve()


@pytest.fixture
def kills(pytestconfig):
    """How often, or None."""
    return pytestconfig.option.times


@pytest.fixture
def seed(pytestconfig):
    chosen = pytestconfig.option.seed
    return random.randrange(1 << 32) if chosen is None else chosen
