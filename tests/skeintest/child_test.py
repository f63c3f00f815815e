"""Children that hang are ended with all they started; servers are found where the system put them; what a child has said
is told with what is wrong."""

import os
import pathlib
import signal
import socket
import sys
import threading

import pytest

from skeintest import child, kernel
from skeintest.child import Child, Silence

LISTENS = "import socket; s = socket.create_server(('127.0.0.1', 0)); print('ready', s.getsockname()[1], flush=True)"
SLEEPS = "import signal; signal.signal(signal.SIGINT, lambda *_: exit(0)); print('ready', flush=True); signal.pause()"
ANSWERS = "import sys; [print(line.strip().upper(), flush=True) for line in sys.stdin]"


@pytest.fixture
def python():
    """Starts a program of Python's."""
    started = []

    def start(program, **how):
        started.append(Child([sys.executable, "-c", program], **how))
        return started[-1]

    yield start
    for each in started:
        each.close()


def has_ended(pid):
    """A killed child is nobody's business but init's, which may take its time to forget it."""
    line = pathlib.Path("/proc", str(pid), "cmdline")
    return not line.exists() or not line.read_bytes()


def test_a_child_that_does_not_end_is_killed_with_its_children():
    with Child(["sh", "-c", "trap '' INT; sleep 600 & echo ready $!; wait"], talks=False) as server:
        server.await_log("ready")
        assert "did not end" in server.stop_fault(0.1)
        grandchild = server.log().split()[1]
    assert kernel.await_true(lambda: has_ended(grandchild), 20)


def test_the_end_of_a_with_leaves_nothing():
    with Child(["sh", "-c", "sleep 600 & echo $!; wait"]) as shell:
        grandchild = shell.line()
    assert shell.status == -signal.SIGKILL
    assert kernel.await_true(lambda: has_ended(grandchild), 20)


def test_what_has_outlived_its_parent_goes_with_it():
    with Child(["sh", "-c", "sleep 600 >/dev/null & echo $!"]) as shell:
        grandchild = shell.line()
        assert shell.wait() == 0
    assert kernel.await_true(lambda: has_ended(grandchild), 20)


def test_no_stranger_is_killed_that_has_the_number_of_a_child_that_is_gone(monkeypatch):
    with Child(["true"], talks=False) as gone:
        assert gone.wait() == 0
        monkeypatch.setattr(os, "killpg", lambda group, number: pytest.fail(f"{number} to {group}"))


def test_a_program_that_hangs_has_no_status(tmp_path):
    status, _ = child.run_to_end(["sleep", "600"], None, tmp_path / "log", 0.1)
    assert status is None


def test_a_program_is_run_to_its_end_and_its_log_kept(tmp_path):
    assert child.run_to_end(["sh", "-c", "echo said; exit 3"], None, tmp_path / "log", 20) == (3, "said\n")
    assert (tmp_path / "log").read_text() == "said\n"


def test_an_end_is_believed_with_its_proofs_alone():
    assert child.end_fault(0, "a, b", 1, ("a", "b")) == ""
    assert "'b'" in child.end_fault(0, "a", 1, ("a", "b"))
    assert "status 3" in child.end_fault(3, "a", 1, ("a",))
    assert "after 1 s" in child.end_fault(None, "a", 1, ("a",))


def test_a_child_answers_line_by_line_and_ends_with_its_input(python):
    asked = python(ANSWERS)
    assert [asked.ask("one", 2), asked.ask("three")] == ["ONE 2", "THREE"]
    assert asked.end() == 0


def test_all_that_is_left_to_say_is_heard_whether_its_line_ends_or_not(python):
    asked = python("print('first'); print('second'); print('third', end='')")
    assert asked.line() == "first"
    assert asked.rest() == "second\nthird"


def test_a_silent_child_is_told_with_its_log(python):
    silent = python("import sys, time; print('the reason', file=sys.stderr, flush=True); time.sleep(600)")
    assert kernel.await_true(lambda: "reason" in silent.log(), 20)
    with pytest.raises(Silence, match="said nothing for 0.1 s(.|\n)*the reason"):
        silent.line(0.1)
    silent.kill()
    with pytest.raises(Silence, match="ended with -9(.|\n)*the reason"):
        silent.line()


def test_a_frozen_child_does_nothing_until_it_goes_on(python):
    frozen = python(ANSWERS)
    frozen.ask("awake")
    frozen.freeze()
    assert kernel.is_stopped(frozen.pid)
    frozen.send("asleep")
    with pytest.raises(Silence):
        frozen.line(0.1)
    frozen.go_on()
    assert frozen.line() == "ASLEEP"


def test_a_port_of_the_systems_choice_is_found(python):
    server = python(f"{LISTENS}; {SLEEPS}", talks=False)
    server.await_log("ready")
    assert f"ready {server.listening_port()}" == server.log().splitlines()[0]


def test_a_server_that_dies_has_no_port(python):
    server = python("print('ready', flush=True)", talks=False)
    server.await_log("ready")
    with pytest.raises(Silence):
        server.listening_port()


def test_a_listener_that_does_not_accept_is_found_out():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        assert not kernel.accepts(address, 0.1)
        listener.accept()[0].close()  # that one
        accepting = threading.Thread(target=lambda: listener.accept()[0].close())
        accepting.start()
        assert kernel.accepts(address, 5)
        accepting.join()


def test_how_a_server_ended_is_told(python):
    def fault(program):
        server = python(program, talks=False)
        server.await_log("ready")
        return server.stop_fault(20)

    assert fault(SLEEPS) == ""
    assert "ended with status 4" in fault(SLEEPS.replace("exit(0)", "exit(4)"))


def test_holdings_are_what_the_process_has(python):
    one, more = python(SLEEPS), python(f"kept = [open('/dev/null') for _ in range(10)]; {SLEEPS}")
    assert [one.line(), more.line()] == ["ready"] * 2
    assert kernel.held(more.pid)["descriptors"] == kernel.held(one.pid)["descriptors"] + 10
    assert kernel.held(more.pid)["threads"] == 1
