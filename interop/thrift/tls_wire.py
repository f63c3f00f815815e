"""A client's way to its server, on which its bytes are seen: whether they are TLS, and all that the two say to each other."""

import pathlib
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests"))

from skeintest.proxies import Proxy  # noqa: E402

HEADER = 5  # bytes of a record: type, version, length
TYPES = range(20, 24)
APPLICATION_DATA = 23
MOST_BYTES = 16384 + 256  # of a record, behind its header
END_TIMEOUT = 10  # seconds


class Records:
    """What one end of a connection says, piece by piece."""

    def __init__(self):
        self.with_data = 0
        self.other = b""  # how it begins where it ceases to be TLS
        self._unread = b""

    def take(self, data):
        self._unread += data
        while len(self._unread) >= HEADER and not self.other:
            size = int.from_bytes(self._unread[3:HEADER], "big")
            if self._unread[0] not in TYPES or self._unread[1] != 3 or size > MOST_BYTES:
                self.other = self._unread[:16]
            elif len(self._unread) < HEADER + size:
                break
            else:
                self.with_data += self._unread[0] == APPLICATION_DATA
                self._unread = self._unread[HEADER + size:]

    def fault(self, least):
        """'' if there were at least so many records with data, and nothing else."""
        if self.other or self._unread:
            return f"it is not TLS where it says {(self.other or self._unread[:16]).hex(' ')}"
        return "" if self.with_data >= least else f"{self.with_data} records with data, instead of {least} or more"


class Wire(Proxy):
    """Forwards the one connection that it takes to the server."""

    def __init__(self, server_port):
        self._server_port = server_port
        self._said = {"client": Records(), "server": Records()}
        super().__init__()

    def server_of(self, client):
        return socket.create_connection(("127.0.0.1", self._server_port))

    def filters(self):
        return self._seen("client"), self._seen("server")

    def _seen(self, end):
        def passed(data):
            self._said[end].take(data)
            return data

        return passed

    def end(self, least):
        """Of a client that has ended. Returns '' or what is wrong with what was said; see Records.fault."""
        if not self.await_end(END_TIMEOUT):
            return "the connection has not ended with the client"
        self.close()
        faults = (f"the {end}: {fault}" for end, said in self._said.items() if (fault := said.fault(least)))
        return next(faults, "")
