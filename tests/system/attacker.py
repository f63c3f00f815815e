"""attacker.py tcp|hello PORT SEED [OFFER ...] | unix|flood SEED NAME ... | fill|sit NAME ...: what hostile processes do to Skein.

tcp: throws bytes at the server's port; OFFERs are recorded ones in hexadecimal, to be replayed, cut and changed.
hello: only such as begin as Skein does.
unix: throws bytes at abstract sockets. These print how often, and end.
flood: the same again and again; prints a line each time.
fill: connects to abstract names until their queues are full; prints a line when they are, and stays.
sit: takes abstract names; prints a line when it has them, and one for each connection with what it hears there.
Connections that stay open do so until the program ends."""

import array
import collections
import contextlib
import fcntl
import itertools
import os
import random
import resource
import select
import signal
import socket
import struct
import sys

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS, ACK = 4, 1
MAGIC = b"\xa5"
F_ADD_SEALS = 1033
ALL_SEALS = 0x0F


def frame(kind, flags, payload, length=None):
    size = len(payload) if length is None else length
    return size.to_bytes(3, "big") + bytes([kind, flags]) + bytes(4) + payload


def settings(rng, count):
    return b"".join(struct.pack(">HI", rng.randrange(1 << 16), rng.randrange(1 << 32)) for _ in range(count))


def changed(rng, data):
    data = bytearray(data)
    for _ in range(rng.randrange(1, 5)):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def openings(rng, offers):
    """What an attacker may say first."""
    yield b""
    for size in (1, 2, 5, 9, 24, 100, 1000, 100_000):
        yield rng.randbytes(size)
    for size in range(1, len(PREFACE) + 1):
        yield PREFACE[:size]
    for count in (0, 1, 2, 6, 40, 1000):
        yield PREFACE + frame(SETTINGS, 0, settings(rng, count))
    yield PREFACE + frame(SETTINGS, ACK, settings(rng, 1))
    yield PREFACE + frame(SETTINGS, 0, b"12345")
    yield PREFACE + frame(SETTINGS, 0, b"", length=(1 << 24) - 1)
    yield PREFACE + frame(rng.randrange(10, 255), 0, rng.randbytes(30))
    for size in range(0, 300):
        yield MAGIC + rng.randbytes(size)
    yield MAGIC * 5000
    for offer in offers:
        yield offer
        yield offer + offer
        yield offer + rng.randbytes(1000)
        for size in range(1, len(offer), 3):
            yield offer[:size]
        for _ in range(200):
            yield changed(rng, offer)


class Tcp:
    """The ways to deliver bytes to a port. What the server answers or whether it closes is its own business."""

    MOST_KEPT = 200

    def __init__(self, port):
        self._port = port
        self._kept = []

    def attack(self, rng, opening):
        connection = socket.create_connection(("127.0.0.1", self._port), timeout=5)
        try:
            getattr(self, rng.choice(("close", "reset", "half_close", "keep", "dribble")))(connection, opening)
        except OSError:  # broken, reset, not connected any more, or too slow
            connection.close()

    def close(self, connection, opening):
        connection.sendall(opening)
        connection.close()

    def reset(self, connection, opening):
        connection.sendall(opening)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    def half_close(self, connection, opening):
        connection.sendall(opening)
        connection.shutdown(socket.SHUT_WR)
        self.keep(connection, b"")

    def keep(self, connection, opening):
        connection.sendall(opening)
        self._kept.append(connection)
        if len(self._kept) > self.MOST_KEPT:
            self._kept.pop(0).close()

    def dribble(self, connection, opening):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in opening[:400]:
            connection.send(bytes([byte]))
        self.keep(connection, opening[400:])


def memfd(size, seals):
    fd = os.memfd_create("attack", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    if seals:
        fcntl.fcntl(fd, F_ADD_SEALS, seals)
    return fd


def messages(rng):
    """(bytes, descriptors) to leave at a meeting point."""
    descriptors = [
        os.open("/dev/null", os.O_RDWR),
        *os.pipe(),
        memfd(0, 0),
        memfd(1 << 20, 0),
        memfd(4096, ALL_SEALS),
        memfd(1 << 30, ALL_SEALS),
        os.eventfd(0),
    ]
    for size in (1, 15, 16, 17, 64, 1000, 60_000):
        yield rng.randbytes(size), []
        for descriptor in descriptors:
            yield rng.randbytes(size), [descriptor]
    yield rng.randbytes(16), descriptors
    yield rng.randbytes(16), descriptors[:1] * 250
    for descriptor in descriptors:
        os.close(descriptor)


def attack_socket(rng, name):
    """Returns connections that are to stay."""
    kept = []
    for bytes_sent, descriptors in itertools.chain([(None, [])] * 20, messages(rng)):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.settimeout(2)
        try:
            connection.connect("\0" + name)
            if bytes_sent is not None:
                rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
                connection.sendmsg([bytes_sent], rights)
        except OSError:
            pass  # refused, full, or its owner has ended: all fine
        if rng.random() < 0.5:
            kept.append(connection)
        else:
            connection.close()
    return kept


def flood(rng, names):
    kept = collections.deque(maxlen=400)  # the oldest close, being nobody's any more
    while True:
        for name in names:
            kept.extend(attack_socket(rng, name))
        print("again", flush=True)


def fill(names):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    kept = []
    for name in names:
        with contextlib.suppress(BlockingIOError):
            while True:
                kept.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK))
                kept[-1].connect("\0" + name)
    print(len(kept), flush=True)
    signal.pause()


def sit(names):
    listening = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in names]
    for each, name in zip(listening, names):
        each.bind("\0" + name)
        each.listen()
    print("sits", flush=True)
    while True:
        for each in select.select(listening, [], [])[0]:
            with each.accept()[0] as connection:
                print(connection.recv(1000).hex() or "nothing", flush=True)


def main():
    kind, *words = sys.argv[1:]
    if kind in ("tcp", "hello"):
        port, seed, *offers = words
        rng = random.Random(int(seed))
        attacker, count = Tcp(int(port)), 0
        for opening in openings(rng, [bytes.fromhex(offer) for offer in offers]):
            if kind == "tcp" or opening.startswith(MAGIC):
                attacker.attack(rng, opening)
                count += 1
        print(count)
    elif kind == "fill":
        fill(words)
    elif kind == "sit":
        sit(words)
    else:
        seed, *names = words
        rng = random.Random(int(seed))
        if kind == "flood":
            flood(rng, names)
        kept = [attack_socket(rng, name) for name in names]
        print(len(kept))


if __name__ == "__main__":
    main()
