"""A process with two libraries of Skein's, to whom asks it."""

import contextlib
import os
import select
import socket
import threading


class TwoLibraries:
    """This process, as if it had two libraries with Skein: what they answer is what two other processes do."""

    def __init__(self, pids):
        self._listening = []
        for library, pid in enumerate(pids):
            listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            listening.bind(f"\0skein-control-{os.getpid()}-{library}")
            listening.listen()
            self._listening.append((listening, pid))
        self._end, self._ended = socket.socketpair()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self):
        self._end.close()
        self._thread.join()
        for each in (self._ended, *(listening for listening, _ in self._listening)):
            each.close()

    def _serve(self):
        while True:
            ready = select.select([self._ended, *(listening for listening, _ in self._listening)], [], [])[0]
            if self._ended in ready:
                return
            for listening, pid in self._listening:
                if listening in ready:
                    self._pass_on(listening.accept()[0], pid)

    @staticmethod
    def _pass_on(asking, pid):
        with asking, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as answering:
            answering.connect(f"\0skein-control-{pid}-0")
            answering.send(asking.recv(256))
            with contextlib.suppress(OSError):  # who asks may leave early
                while piece := answering.recv(1 << 16):
                    asking.send(piece)
