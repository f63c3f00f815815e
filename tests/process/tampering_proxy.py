"""A TCP proxy that changes bits of what Skein peers say to each other before they have agreed on a path."""

import random
import socket
import threading

MAGIC = 0xA5
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


class TamperingProxy:
    """Listens at `port`; changes either the first client bytes after HTTP/2's preface or the server's first answer."""

    def __init__(self, server_port, seed):
        self._server_port = server_port
        self._rng = random.Random(seed)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.tampered = 0
        self._sockets = [self._listening]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        for each in self._sockets:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # not connected any more
            each.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listening.accept()
                server = socket.create_connection(("127.0.0.1", self._server_port))
            except OSError:
                return  # closed
            self._sockets += [client, server]
            spoil_offer = self._rng.random() < 0.5
            for source, sink, spoil in ((client, server, spoil_offer), (server, client, not spoil_offer)):
                threading.Thread(target=self._forward, args=(source, sink, spoil), daemon=True).start()

    def _forward(self, source, sink, spoil):
        try:
            while data := source.recv(65536):
                if spoil:
                    data, spoil = self._spoiled(data), False
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # either end has gone

    def _spoiled(self, data):
        first = len(PREFACE) if data.startswith(PREFACE) else 0
        if len(data) <= first or (first == 0 and data[0] != MAGIC):
            return data  # an ordinary answer: not ours to spoil
        self.tampered += 1
        data = bytearray(data)
        for _ in range(self._rng.choice((1, 1, 2, 8))):
            data[self._rng.randrange(first, len(data))] ^= 1 << self._rng.randrange(8)
        return bytes(data)
