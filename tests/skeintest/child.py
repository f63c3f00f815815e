"""A child process: it is started, heard, asked, stopped and killed in one way, whatever it runs."""

import contextlib
import json
import os
import pathlib
import selectors
import signal
import subprocess
import tempfile
import time

import psutil

from skeintest import kernel
from skeintest.kernel import await_true

PATIENCE = 30  # seconds for what takes a moment; a busy machine is given time
INTERRUPT = signal.SIGINT
TAIL = 4000  # characters of a log that an error quotes


# A peer that waits a second for a processor is no reason to take TCP.
NEGOTIATION = {"SKEIN_NEGOTIATION_TIMEOUT": "20000"}


def clean_environment(*prefixes):
    """This process's environment without what would switch a child to Skein, or whatever else starts like this. A child
    that uses Skein is patient with its peers."""
    own = {k: v for k, v in os.environ.items() if not k.startswith(("SKEIN_", "LD_PRELOAD", *prefixes))}
    return own | NEGOTIATION


class Silence(AssertionError):
    """A child said nothing in time, or has ended instead."""


class Lines:
    """What a process says, line by line; `pipe` is what it says it to."""

    def __init__(self, pipe):
        self._pipe = pipe
        self._unread = b""

    def next(self, seconds):
        """Without its end. EOFError if nothing more comes, TimeoutError if not within so many seconds."""
        end = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._pipe, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                if not selector.select(max(0.0, end - time.monotonic())):
                    raise TimeoutError(f"nothing within {seconds} s")
                data = os.read(self._pipe.fileno(), 65536)
                if not data:
                    raise EOFError
                self._unread += data
        line, self._unread = self._unread.split(b"\n", 1)
        return line.decode()

    def torn(self):
        """What has come of a line that has no end."""
        return self._unread.decode()


class Child:
    """A child process, the first of a session of its own. Its log is kept. A test that ends leaves nothing of it: close()
    kills it with all that it has started, and so does the end of a `with`."""

    def __init__(self, command, environment=None, *, log=None, talks=True, folder=None, **how):
        """`command`: its words. `environment`: all of it; this process's without Skein's switches if there is none. `log`:
        the file of what it says to standard error; one without a name if there is none. `talks`: what it says to standard
        output comes by line(); else that is a part of the log. `folder`: where it runs. `how`: more of Popen's."""
        self._log = tempfile.TemporaryFile() if log is None else pathlib.Path(log).open("w+b")
        words = [str(word) for word in command]
        self.process = subprocess.Popen(
            words, env=clean_environment() if environment is None else environment, cwd=folder, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if talks else self._log, stderr=self._log, bufsize=0, start_new_session=True, **how)  # fmt: skip
        programs = [word for word in words if os.path.isfile(word) and os.access(word, os.X_OK)]
        self.name = pathlib.Path((programs or words[:1])[-1]).name
        self._forks = "--fork" in words  # unshare's
        self._lines = Lines(self.process.stdout) if talks else None
        self._has_group = True  # as far as is known; else the number of its group may be a stranger's

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def pid(self):
        """The program's process id: below `unshare --fork`, that of the program, too."""
        below = psutil.Process(self.process.pid).children() if self._forks and not self.ended() else []
        return below[0].pid if below else self.process.pid

    # What it says.

    def line(self, seconds=PATIENCE):
        """The next line of its output, without its end. Silence if there is none."""
        try:
            return self._lines.next(seconds)
        except TimeoutError:
            raise Silence(f"{self} said nothing for {seconds} s; {kernel.waits(self.pid)}{self._log_end()}") from None
        except EOFError:
            raise Silence(f"{self} {self._how_it_ended()}{self._log_end()}") from None

    def rest(self, seconds=PATIENCE):
        """Its output from here on, to the end of it. Silence if that does not come."""
        lines, end = [], time.monotonic() + seconds
        try:
            while True:
                lines.append(self._lines.next(max(0.0, end - time.monotonic())) + "\n")
        except EOFError:
            return "".join(lines) + self._lines.torn()
        except TimeoutError:
            raise Silence(f"{self} had not said all within {seconds} s{self._log_end()}") from None

    def log(self):
        """All that there is of it now."""
        return os.pread(self._log.fileno(), os.fstat(self._log.fileno()).st_size, 0).decode(errors="replace")

    def await_log(self, text, seconds=PATIENCE):
        """Until the log has this text in it, which a server writes once it is ready. Silence if it never has."""
        if not await_true(lambda: text in self.log() or self.ended(), seconds, 0.005) or text not in self.log():
            raise Silence(f"{self} did not say '{text}'{self._log_end()}")

    def listening_port(self, seconds=PATIENCE):
        """The TCP port that the system has chosen for it, once it listens. Silence if it does not."""
        await_true(lambda: self.ended() or kernel.listening_port(self.pid), seconds, 0.005)
        port = None if self.ended() else kernel.listening_port(self.pid)
        if port is None:
            raise Silence(f"{self} does not listen{self._log_end()}")
        return port

    def __str__(self):
        return f"{self.name} (process {self.process.pid})"

    def _log_end(self):
        log = self.log()[-TAIL:]
        return f"; its log ends:\n{log}" if log else ""

    # What it is told.

    def send(self, *words):
        """A line of its input."""
        self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())

    def ask(self, *words, seconds=PATIENCE):
        """The line that it answers a line with."""
        self.send(*words)
        return self.line(seconds)

    def receive(self, seconds=PATIENCE):
        """The next line, which is JSON."""
        return json.loads(self.line(seconds))

    # What happens to it.

    def signal(self, number):
        os.kill(self.pid, number)

    def freeze(self):
        """SIGSTOP. Returns when each of its threads has stopped, which takes a while on a busy machine."""
        self.signal(signal.SIGSTOP)
        if not await_true(lambda: kernel.is_stopped(self.pid), PATIENCE, 0.001):
            raise Silence(f"{self} goes on after SIGSTOP")

    def go_on(self):
        """SIGCONT, if there is anybody to hear it."""
        if not self.ended():
            self.signal(signal.SIGCONT)

    @contextlib.contextmanager
    def stopped(self):
        """While it lasts, none of its threads runs."""
        self.freeze()
        try:
            yield
        finally:
            self.go_on()

    @contextlib.contextmanager
    def short_of_descriptors(self, spare):
        """While it lasts, it may open so many more."""
        kernel.squeeze_descriptors(self.pid, spare)
        try:
            yield
        finally:
            if not self.ended():
                kernel.release_descriptors(self.pid)

    def kill(self):
        """SIGKILL to it and all that it has started, which may outlive it. Returns when it is gone."""
        self._signal_group(signal.SIGKILL)
        try:
            self._reap(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Silence(f"{self} is stuck in the kernel: {kernel.waits(self.process.pid)}") from None
        self._has_group = False

    # How it ends.

    def _signal_group(self, number):
        if self._has_group:
            try:
                os.killpg(self.process.pid, number)
            except (ProcessLookupError, PermissionError):  # nobody, or a stranger
                self._has_group = False

    def _how_it_ended(self):
        try:
            return f"ended with {self._reap(PATIENCE)}"
        except subprocess.TimeoutExpired:
            return "closed its output, and runs on"

    def _reap(self, seconds):
        """Its exit status. From then on its number is free for others, unless children keep the group."""
        running = self.process.returncode is None
        status = self.process.wait(seconds)
        if running:
            self._signal_group(0)
        return status

    def ended(self):
        return self.status is not None

    @property
    def status(self):
        """The exit status; None while it runs."""
        try:
            return self._reap(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, seconds=PATIENCE):
        """Its exit status; None when it had not ended by itself by then: it has been killed."""
        try:
            return self._reap(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def end(self, seconds=PATIENCE):
        """The same of a program that ends with its input."""
        self.process.stdin.close()
        return self.wait(seconds)

    def stop(self, seconds=PATIENCE, number=INTERRUPT):
        """The same of one that ends when it is asked to."""
        if not self.ended():
            self.signal(number)
        return self.wait(seconds)

    def stop_fault(self, seconds=PATIENCE, number=INTERRUPT):
        """What is wrong with how a server ends that is asked to, or ''."""
        if self.ended():
            return f"the server died with status {self.status}"
        status = self.stop(seconds, number)
        if status is None:
            return f"the server did not end within {seconds} s"
        return "" if status == 0 else f"the server ended with status {status}"

    def close(self):
        """Kills what is left of it, and closes its pipes."""
        self.kill()
        for pipe in filter(None, (self.process.stdin, self.process.stdout, self._log)):
            pipe.close()


def run_to_end(command, environment, log, seconds, folder=None):
    """Runs a program; returns its exit status, or None when it had not ended by then, and its log, which is all that it has
    said."""
    with Child(command, environment, log=log, talks=False, folder=folder) as child:
        child.process.stdin.close()
        return child.wait(seconds), child.log()


def end_fault(status, log, seconds, proofs):
    """What is wrong with how a program ended, or ''. Status 0 alone is not believed: it must have logged all proofs."""
    if status is None:
        return f"no end after {seconds} s"
    if status != 0:
        return f"ended with status {status}"
    missing = [proof for proof in proofs if proof not in log]
    return f"status 0, but it never logged '{missing[0]}'" if missing else ""
