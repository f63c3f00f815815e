"""The examples' services of durable calls, gRPC's counter and Thrift's notebook: a server on one log, and its callers."""

from skeintest.child import PATIENCE, Child, clean_environment
from skeintest.kernel import await_true


class Service:
    """What a server or a caller says is its log."""

    def __init__(self, build, framework, folder, *, host="127.0.0.1", settings=None, log_bytes=None):
        """`folder`: of its log and its notebook. `settings`: variables of all programs besides. `log_bytes`: the counter's
        log has so many, or what it usually has."""
        self._build, self._framework, self._folder = build, framework, folder
        self._environment = {**clean_environment("GRPC_"), **(settings or {})}
        self._log_bytes = [] if log_bytes is None else [log_bytes]
        self._callers = []
        self._host, self._port = host, 0  # the system chooses one, which the service keeps
        self.server = None

    def _start(self, commands):
        return Child(commands[self._framework], self._environment, talks=False)

    @property
    def _address(self):
        return f"{self._host}:{self._port}"

    def start(self):
        """A server, in the place of one that has ended. Returns at once."""
        log, examples = self._folder / "log", self._build / "examples"
        if self.server is not None:
            self.server.close()
        self.server = self._start({
            "grpc": [examples / "counter/counter_server", log, self._address, *self._log_bytes],
            "thrift": [examples / "notebook/notebook_server", self._address, log, self._folder / "notebook"],
        })  # fmt: skip

    def start_and_listen(self):
        """The same. Returns what it says first, when it has: where it listens, or why it cannot."""
        self.start()
        await_true(lambda: "\n" in self.server.log() or self.server.ended(), PATIENCE)
        said = self.server.log().split("\n")[0]
        if said.startswith("listening on "):
            self._port = int(said.split()[2].rstrip(";"))
        return said

    def caller(self, calls, carrier="skein"):
        """The counter's has so many calls; the notebook's calls, over that carrier, until its input ends."""
        self._callers.append(self._start({
            "grpc": [self._build / "examples/counter/counter_client", self._address, calls],
            "thrift": [self._build / "tests/system/notebook_caller", self._address, f"c{len(self._callers)}", carrier],
        }))  # fmt: skip
        return self._callers[-1]

    def close(self):
        for each in (self.server, *self._callers):
            if each is not None:
                each.close()
