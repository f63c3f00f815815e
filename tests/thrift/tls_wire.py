"""A client's way to its server, on which its bytes are seen: whether they are TLS, and all that the two say to each other."""

import socket
import threading

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


class Wire:
    """Listens at `port`, and forwards the one connection that it takes to the server."""

    def __init__(self, server_port):
        self._server_port = server_port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._said = {"client": Records(), "server": Records()}
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def end(self, least):
        """Of a client that has ended. Returns '' or what is wrong with what was said; see Records.fault."""
        try:
            self._listening.shutdown(socket.SHUT_RDWR)  # in case that nobody has connected
        except OSError:
            pass  # somebody has
        self._thread.join(END_TIMEOUT)
        if self._thread.is_alive():
            return "the connection has not ended with the client"
        faults = (f"the {end}: {fault}" for end, said in self._said.items() if (fault := said.fault(least)))
        return next(faults, "")

    def _serve(self):
        try:
            with self._listening:
                client, _ = self._listening.accept()
        except OSError:
            return  # nobody has come
        with client, socket.create_connection(("127.0.0.1", self._server_port)) as server:
            answers = threading.Thread(target=self._forward, args=(server, client, self._said["server"]), daemon=True)
            answers.start()
            self._forward(client, server, self._said["client"])
            answers.join()

    @staticmethod
    def _forward(source, sink, said):
        try:
            while data := source.recv(65536):
                said.take(data)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # either end has gone
