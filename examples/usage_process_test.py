"""What the programs of the greeter and the calculator say to somebody who does not know how to call them."""

import subprocess

import pytest


@pytest.fixture(params=["greeter", "calculator"])
def program(build, request):
    """Gives the path of the example's program for a role."""

    def path(role):
        path = build / "examples" / request.param / f"{request.param}_{role}"
        if not path.exists():
            pytest.skip("this build has no such program")
        return path

    return path


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def test_a_server_asked_for_help_says_how_it_is_called(program):
    done = run(program("server"), "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"usage: {program('server')} [ADDRESS]\n"


def test_a_server_refuses_what_is_no_address(program):
    for words in (["--port"], ["127.0.0.1:0", "127.0.0.1:0"]):
        done = run(program("server"), *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("usage: ")


def test_a_client_asked_for_help_says_how_it_is_called(program):
    done = run(program("client"), "--help")
    assert f"usage: {program('client')} TARGET [--calls N] [--echoes N] [--watch]" in done.stdout
    assert "--calls (small calls to measure)" in done.stdout
    assert "SetProgramUsageMessage" not in done.stdout + done.stderr


def test_a_client_without_a_target_is_refused(program):
    done = run(program("client"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: ")
