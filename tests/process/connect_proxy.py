"""An HTTP CONNECT proxy, as companies have them."""

import socket
import threading


class ConnectProxy:
    def __init__(self):
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.connects = 0
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
            except OSError:
                return  # closed
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        request = b""
        while b"\r\n\r\n" not in request:
            request += client.recv(4096)
        host, port = request.split()[1].decode().rsplit(":", 1)
        server = socket.create_connection((host, int(port)))
        self._sockets += [client, server]
        self.connects += 1
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        for source, sink in ((client, server), (server, client)):
            threading.Thread(target=self._forward, args=(source, sink), daemon=True).start()

    @staticmethod
    def _forward(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # either end has gone
