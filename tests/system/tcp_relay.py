"""tcp_relay.py PORT MARK: passes connections on that were redirected to the port, as a service mesh's sidecar does. Its
own bear the mark, by which the rule that redirects knows them."""

import pathlib
import signal
import socket
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from skeintest.proxies import Proxy  # noqa: E402

SO_ORIGINAL_DST = 80  # linux/netfilter_ipv4.h


class Relay(Proxy):
    def __init__(self, port, mark):
        self._mark = mark
        super().__init__(port)

    def server_of(self, client):
        """Where the client has connected to, by the kernel's word."""
        address = client.getsockopt(socket.SOL_IP, SO_ORIGINAL_DST, 16)  # a sockaddr_in
        port, host = struct.unpack("!2xH4s8x", address)
        server = socket.socket()
        server.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, self._mark)
        server.connect((socket.inet_ntoa(host), port))
        return server


def main():
    Relay(*map(int, sys.argv[1:]))
    print("listening", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
