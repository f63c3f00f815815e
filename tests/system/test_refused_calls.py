"""A sandbox refuses one end a system call that stock gRPC and Thrift do not make.
Calls that succeed over TCP succeed with Skein in mode prefer.

The calls are those that `strace -f` showed of a server and a client with Skein, and not of the same two over TCP; of
the calls that both make, those with arguments that only Skein gives (UNIX sockets, seals of memfds); and those that
only one of the two frameworks makes. Not geteuid() and getpid(), which cannot fail and which no sandbox refuses. Where
calls fail over TCP, too, the framework itself needs the refused call."""

import errno
import fcntl
import socket
import unittest

from skeintest import loads, probes

# By name: the number (x86-64), and perhaps the one argument with which it is refused.
CALLS = {
    "memfd_create": "319",
    "fallocate": "285",
    "fstatfs": "138",
    "fcntl(F_ADD_SEALS)": f"72:1={fcntl.F_ADD_SEALS}",
    "fcntl(F_GET_SEALS)": f"72:1={fcntl.F_GET_SEALS}",
    "mmap(MAP_SHARED)": "9:3=1",
    "socket(AF_UNIX)": f"41:0={int(socket.AF_UNIX)}",
    "bind": "49",
    "listen": "50",
    "connect": "42",
    "accept4": "288",
    "getsockopt(SO_PEERCRED)": f"55:2={socket.SO_PEERCRED}",
    "sendmsg": "46",
    "recvmsg": "47",
    "pipe2": "293",
    "fcntl(F_SETPIPE_SZ)": f"72:1={fcntl.F_SETPIPE_SZ}",
    "readlink": "89",
    "poll": "7",
    "epoll_create1": "291",
    "epoll_ctl": "233",
    "epoll_wait": "232",
    "eventfd2": "290",
    "getpeername": "52",
    "sched_yield": "24",
    "sched_getaffinity": "204",
    "sched_getparam": "143",
    "sched_getscheduler": "145",
    "clock_nanosleep": "230",
    "prctl": "157",
    "getrandom": "318",
    "membarrier": "324",
    "madvise": "28",
    "socket(AF_NETLINK)": f"41:0={int(socket.AF_NETLINK)}",
    "prlimit64": "302",
}
ERRORS = (errno.EPERM, errno.ENOSYS)
# That either end needs for shared memory, and for nothing else.
NEEDED = {"memfd_create", "fallocate", "fstatfs", "fcntl(F_ADD_SEALS)", "fcntl(F_GET_SEALS)", "mmap(MAP_SHARED)"}


class RefusedCalls(unittest.TestCase):
    def try_each(self, framework, end):
        # Of the two errors each call is refused with one here, and with the other one at the other end.
        for number, call in enumerate(CALLS):
            error = ERRORS[(number + (end == "server")) % 2]
            with self.subTest(call=call, error=errno.errorcode[error]):
                refuse = [probes.binary("refuse"), CALLS[call], error]
                found, fine = loads.as_over_tcp(probes.build(), framework, end, refuse, calls_each=10)
                self.assertTrue(fine, found)
                if call in NEEDED:
                    self.assertGreater(len(found["paths"]), 0, found)
                    for path in found["paths"]:
                        self.assertRegex(path, "tcp: not permitted .*(Operation not permitted|Function not implemented)")

    def test_a_grpc_server_that_is_refused_a_call_works_as_over_tcp(self):
        self.try_each("grpc", "server")

    def test_a_grpc_client_that_is_refused_a_call_works_as_over_tcp(self):
        self.try_each("grpc", "client")

    def test_a_thrift_server_that_is_refused_a_call_works_as_over_tcp(self):
        self.try_each("thrift", "server")

    def test_a_thrift_client_that_is_refused_a_call_works_as_over_tcp(self):
        self.try_each("thrift", "client")
