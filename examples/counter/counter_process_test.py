"""What the programs say to a caller who calls them wrongly. Their deaths: tests/system/test_durable_kills.py."""

import pytest

from skeintest.child import run_to_end


@pytest.fixture
def call(build, tmp_path):
    """(exit status, what it said): of a program of this folder, in a folder of its own."""

    def calling(name, *words):
        return run_to_end([build / "examples" / "counter" / name, *words], None, None, 60, tmp_path)

    return calling


@pytest.mark.parametrize("words", [(), ("--help",), ("log", ":0", "abc"), ("log", ":0", 65536, "total", "two", ":1"),
                                   ("log", ":0", 65536, "total", 2)])  # fmt: skip
def test_a_server_says_how_it_is_called(call, tmp_path, words):
    status, said = call("counter_server", *words)
    assert (status, "usage: " in said, list(tmp_path.iterdir())) == (0 if words == ("--help",) else 2, True, []), said


@pytest.mark.parametrize("words", [("--help",), (":1", "abc"), (":1", 0), (":1", 5, "abc"), (":1", 5, -1)])
def test_a_client_says_how_it_is_called(call, words):
    status, said = call("counter_client", *words)
    assert (status, "usage: " in said) == (0 if words == ("--help",) else 2, True), said


def test_a_server_that_cannot_have_its_log_says_why_in_words(call):
    status, said = call("counter_server", "no/such/folder/log")
    assert status == 1 and "No such file or directory" in said and "skein/errno" not in said, said
