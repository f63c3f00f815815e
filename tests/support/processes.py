"""Child processes that keep their output in a file: servers, and programs that run to their end. And what /proc says."""

import contextlib
import os
import pathlib
import resource
import selectors
import signal
import socket
import subprocess
import threading
import time

START_TIMEOUT = 20  # seconds


def clean_environment(*prefixes):
    """This process's environment without what would switch a child to Skein, or whatever else starts like this."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("SKEIN_", "LD_PRELOAD", *prefixes))}


class LoggedServer:
    """A server in a process group of its own; its log can be read while it runs."""

    def __init__(self, command, environment, log_path, ready):
        """`ready`: the log line with this in it is the one to wait for."""
        self.log_path = log_path
        self._is_ready = threading.Event()
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT, start_new_session=True)
        self._reader = threading.Thread(target=self._keep_log, args=(ready.encode(),), daemon=True)
        self._reader.start()

    def _keep_log(self, ready):
        with self.log_path.open("wb") as log, self._process.stdout as lines:
            for line in lines:
                log.write(line)
                log.flush()
                if ready in line:
                    self._is_ready.set()
        self._is_ready.set()  # it has died: let nobody wait for it

    def wait_until_ready(self):
        if not self._is_ready.wait(START_TIMEOUT) or self._process.poll() is not None:
            raise RuntimeError(f"the server did not start; its log: {self.log_path}")

    def listening_port(self):
        """For a server that lets the system choose its port, and listens soon after it is ready."""
        await_true(lambda: self._process.poll() is not None or listening_port(self._process.pid), START_TIMEOUT, 0.005)
        port = listening_port(self._process.pid) if self._process.poll() is None else None
        if port is None:
            raise RuntimeError(f"the server does not listen; its log: {self.log_path}")
        return port

    def log(self):
        return self.log_path.read_text(errors="replace")

    def stop(self, timeout):
        """Asks it to end; returns '' or what was wrong with how it ended."""
        if self._process.poll() is not None:
            return f"the server died with status {self._process.returncode}"
        self._process.send_signal(signal.SIGINT)
        ended = wait_or_kill(self._process, timeout)
        self._reader.join(timeout)
        if ended is None:
            return f"the server did not end within {timeout} s"
        return "" if ended == 0 else f"the server ended with status {ended}"


def run_to_end(command, environment, log_path, timeout, folder=None):
    """Runs a program, in `folder` if given; returns its exit status, or None when it had not ended after `timeout` seconds,
    and its log."""
    with log_path.open("wb") as log, \
            subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                             start_new_session=True) as process:
        status = wait_or_kill(process, timeout)
    return status, log_path.read_text(errors="replace")


def wait_or_kill(process, timeout):
    """The exit status of a process that leads a group; None when it had to be killed, and all it had started with it."""
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def end_fault(status, log, timeout, proofs):
    """What is wrong with how a program ended, or ''. Status 0 alone is not believed: it must have logged all proofs."""
    if status is None:
        return f"no end after {timeout} s"
    if status != 0:
        return f"ended with status {status}"
    missing = [proof for proof in proofs if proof not in log]
    return f"status 0, but it never logged '{missing[0]}'" if missing else ""


def free_ports(count):
    """Ports that nobody listens on; all held until all are known, so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def descriptors(pid):
    """What each open descriptor of the process is."""
    targets = []
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            targets.append(os.readlink(entry))
        except FileNotFoundError:
            pass  # closed since it was listed
    return targets


def sockets(pid):
    """The kernel's line on each of the process's sockets: addresses and state. Its tables omit connections that ended."""
    lines = []
    own = {target[len("socket:["):-1] for target in descriptors(pid) if target.startswith("socket:[")}
    for table, inode in (("tcp", 9), ("tcp6", 9), ("unix", 6)):
        file = pathlib.Path(f"/proc/net/{table}")
        for line in file.read_text().splitlines()[1:] if file.exists() else ():
            found = line.split()[inode]
            if found in own:
                own.remove(found)
                lines.append(f"{table} {line.strip()}")
    return lines + [f"in no table: {inode}" for inode in sorted(own)]


def threads(pid):
    """Each thread's name, the system call that it is in, and where the kernel has it wait."""
    lines = []
    for task in sorted(pathlib.Path(f"/proc/{pid}/task").iterdir()):
        with contextlib.suppress(OSError):  # one has just ended
            name, call, place = ((task / file).read_text().strip() for file in ("comm", "syscall", "wchan"))
            lines.append(f"thread {name}: system call {call.split()[0]}, {place}")
    return lines


def squeeze_descriptors(pid, spare):
    """Leaves the running process `spare` more, gaps among its present ones included."""
    used = {int(fd) for fd in os.listdir(f"/proc/{pid}/fd")}
    limit, free = 0, 0
    while free < spare or limit in used:
        free += limit not in used
        limit += 1
    _set_descriptor_limit(pid, limit)


def release_descriptors(pid):
    """As many as it may have."""
    _set_descriptor_limit(pid, 1 << 20)


def _set_descriptor_limit(pid, limit):
    _, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(limit, most), most))


def listeners():
    """(port, connections that wait to be accepted, inode) of each socket that listens on TCP."""
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()  # index, local address:port, remote address:port, state, queues tx:rx, ..., inode at 9
            if fields[3] == "0A":
                yield int(fields[1].rsplit(":", 1)[1], 16), int(fields[4].split(":")[1], 16), fields[9]


def listening_port(pid):
    """The TCP port that the process listens on, or None."""
    own = set(descriptors(pid))
    return next((port for port, _, inode in listeners() if f"socket:[{inode}]" in own), None)


def accepts(address, seconds):
    """Whether who listens on host:port takes a connection within so many seconds; the kernel makes them by itself."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port))):
        return await_true(lambda: not any(of == int(port) and waiting for of, waiting, _ in listeners()), seconds)


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


def await_true(condition, seconds, step=0.02):
    """Whether `condition()` came true in time. For what the kernel only tells on asking."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(step)
    return True
