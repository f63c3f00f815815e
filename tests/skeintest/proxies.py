"""Proxies between a client and its server: some pass connections on, some look at the bytes, some change what Skein's
peers say before they have agreed on a path."""

import functools
import random
import socket
import threading

MAGIC = 0xA5
THRIFT_OPENING = b"\xa5\r\n"  # ahead of a client's frame
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FIRST_SETTING = 0xF5A0
HTTP2_HEADER, SETTING = 9, 6  # bytes
END = 18  # of an offer: where its connection begins
PASSED_ON = "tcp: behind a proxy (the connection comes from another address than its client's)"


class Proxy:
    """Listens on `port` of 127.0.0.1, and passes each connection on to the server that server_of() connects to."""

    def __init__(self, port=0):
        self._listening = socket.create_server(("127.0.0.1", port))
        self.port = self._listening.getsockname()[1]
        self._sockets = [self._listening]
        self._threads = [self._start(self._accept)]

    def server_of(self, client):
        """A connection to the server that the client wants."""
        raise NotImplementedError

    def filters(self):
        """What happens to the bytes of a connection: a function of a client's pieces, and one of its server's. Each gives
        what is passed on instead."""
        return bytes, bytes

    def close(self):
        for each in self._sockets:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # not connected any more
            each.close()

    def await_end(self, seconds):
        """Takes no more connections. Whether those that there are have ended within so many seconds, each."""
        try:
            self._listening.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # closed
        for thread in self._threads:
            thread.join(seconds)
        return not any(thread.is_alive() for thread in self._threads)

    @staticmethod
    def _start(function, *words):
        thread = threading.Thread(target=function, args=words, daemon=True)
        thread.start()
        return thread

    def _accept(self):
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return  # closed
            self._sockets.append(client)
            try:
                server = self.server_of(client)
            except OSError:
                client.close()
                continue
            self._sockets.append(server)
            of_client, of_server = self.filters()
            self._threads += [self._start(self._forward, *way) for way in
                              ((client, server, of_client), (server, client, of_server))]  # fmt: skip

    @staticmethod
    def _forward(source, sink, passed):
        try:
            while data := source.recv(65536):
                sink.sendall(passed(data))
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # either end has gone


class ConnectProxy(Proxy):
    """An HTTP CONNECT proxy, as companies have them."""

    connects = 0

    def server_of(self, client):
        request = b""
        while b"\r\n\r\n" not in request:
            if not (piece := client.recv(4096)):
                raise ConnectionError("the client has gone")
            request += piece
        host, port = request.split()[1].decode().rsplit(":", 1)
        server = socket.create_connection((host, int(port)))
        self.connects += 1
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        return server


class NegotiationProxy(Proxy):
    """What either end says first goes through offer() or answer(), which see Skein's bytes alone."""

    noticed = False  # by the server, which is told where its client's connection begins

    def __init__(self, server_port):
        self._server_port = server_port
        self.changed = 0
        super().__init__()

    def server_of(self, client):
        return socket.create_connection(("127.0.0.1", self._server_port))

    def filters(self):
        offer, answer = self.changes()
        return self._first(None if self.noticed else unnoticed, offer), self._first(answer)

    def _first(self, *changes):
        """Of the pieces, the first is changed."""
        left = [change for change in changes if change]

        def passed(data):
            while left:
                data = self._changed(data, left.pop(0))
            return data

        return passed

    def _changed(self, data, change):
        first = len(PREFACE) if data.startswith(PREFACE) else 0
        if len(data) <= first or (first == 0 and data[0] != MAGIC):
            return data  # an ordinary answer: not ours to change
        self.changed += change is not unnoticed
        return data[:first] + change(data[first:])

    def changes(self):
        return None, None


class PlainProxy(NegotiationProxy):
    """Changes nothing."""

    noticed = True


class TamperingProxy(NegotiationProxy):
    """Flips bits of either the offer or the answer. Spares the lengths of HTTP/2 frames: gRPC would wait for the rest of
    a frame, and the call for its deadline, as over TCP."""

    def __init__(self, server_port, seed):
        self._rng = random.Random(seed)
        super().__init__(server_port)

    def changes(self):
        return (self._flip, None) if self._rng.random() < 0.5 else (None, self._flip)

    def _flip(self, data):
        data = bytearray(data)
        for _ in range(self._rng.choice((1, 1, 2, 8))):
            data[self._rng.choice(_changeable(data))] ^= 1 << self._rng.randrange(8)
        return bytes(data)


def _changeable(data):
    """The places of the bytes that a flip may change."""
    places = list(range(len(data)))
    if data[0] == MAGIC:
        return places
    at = 0
    while at < len(data):
        end = at + HTTP2_HEADER + int.from_bytes(data[at : at + 3], "big")
        del places[places.index(at) : places.index(at) + 3]
        at = end
    return places


class VersionProxy(NegotiationProxy):
    """Makes one end look as if it knew other versions of the protocol: offer(payload) and answer(payload) give what is
    said instead; None where nothing is changed."""

    def __init__(self, server_port, offer=None, answer=None):
        self._offer, self._answer = offer, answer
        super().__init__(server_port)

    def changes(self):
        return tuple(change and functools.partial(_rewritten, change=change) for change in (self._offer, self._answer))


def _rewritten(data, change):
    """`data` with its payload changed, in the form that it had: a frame of Skein's own, or HTTP/2 settings."""
    if data.startswith(THRIFT_OPENING):
        return THRIFT_OPENING + _rewritten(data[len(THRIFT_OPENING) :], change)
    if data[0] == MAGIC:
        size = int.from_bytes(data[5:7], "big")
        payload = change(data[7 : 7 + size])
        return data[:5] + len(payload).to_bytes(2, "big") + payload + data[7 + size :]
    size, words, at = None, b"", 0
    while size is None or len(words) < size:
        assert at < len(data), "not all of it came at once"
        end = at + HTTP2_HEADER + int.from_bytes(data[at : at + 3], "big")
        for setting in range(at + HTTP2_HEADER, end, SETTING):
            value = data[setting + 2 : setting + SETTING]
            size, words = (int.from_bytes(value, "big"), b"") if size is None else (size, words + value)
        at = end
    return _settings(change(words[:size])) + data[at:]


def unnoticed(data):
    """An offer that anybody may have passed on: it does not say whence it comes."""
    first = len(PREFACE) if data.startswith(PREFACE) else 0
    return data[:first] + _rewritten(data[first:], lambda offer: offer[:-END] + bytes(END))


def _settings(payload):
    words = [len(payload).to_bytes(4, "big")]
    words += [payload[at : at + 4].ljust(4, b"\0") for at in range(0, len(payload), 4)]
    settings = [(FIRST_SETTING + i).to_bytes(2, "big") + word for i, word in enumerate(words)]
    frames = [b"".join(settings[at : at + 16]) for at in range(0, len(settings), 16)]
    return b"".join(len(frame).to_bytes(3, "big") + b"\4\0" + bytes(4) + frame for frame in frames)
