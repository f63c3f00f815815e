"""tcp_relay.py PORT MARK: passes connections on that were redirected to the port, as a service mesh's sidecar does. Its
own bear the mark, by which the rule that redirects knows them."""

import socket
import struct
import sys
import threading

SO_ORIGINAL_DST = 80  # linux/netfilter_ipv4.h


def forward(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # either end has gone


def meant_for(connection):
    """Where the client has connected to, by the kernel's word."""
    address = connection.getsockopt(socket.SOL_IP, SO_ORIGINAL_DST, 16)  # a sockaddr_in
    port, host = struct.unpack("!2xH4s8x", address)
    return socket.inet_ntoa(host), port


def main():
    port, mark = map(int, sys.argv[1:])
    listening = socket.create_server(("127.0.0.1", port))
    print("listening", flush=True)
    while True:
        client, _ = listening.accept()
        server = socket.socket()
        server.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)
        server.connect(meant_for(client))
        for source, sink in ((client, server), (server, client)):
            threading.Thread(target=forward, args=(source, sink), daemon=True).start()


if __name__ == "__main__":
    main()
