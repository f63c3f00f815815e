"""What the kernel lets processes like ours do, found by doing it. Each probe returns '' or why it did not work."""

import ctypes
import fcntl
import os
import socket


def memfd_sealing():
    """A memfd sealed against shrinking must refuse to shrink: a peer that could shrink it would kill us with SIGBUS."""
    try:
        memory = os.memfd_create("skein-doctor", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except OSError as error:
        return error.strerror
    try:
        os.ftruncate(memory, 4096)
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        try:
            os.ftruncate(memory, 0)
        except PermissionError:
            return ""
        return "a sealed memfd could be shrunk"
    except OSError as error:
        return error.strerror
    finally:
        os.close(memory)


def pass_descriptor():
    try:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            socket.send_fds(ours, [b"x"], [ours.fileno()])
            _, descriptors, _, _ = socket.recv_fds(theirs, 1, 1)
            for descriptor in descriptors:
                os.close(descriptor)
            return "" if len(descriptors) == 1 else "none arrived"
    except OSError as error:
        return error.strerror


class _IoVec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def read_sibling_memory():
    """One child reads another's memory: neither is the other's parent, as with two services of one user."""
    secret = ctypes.create_string_buffer(os.urandom(32), 32)  # the same address and bytes in both children
    done_read, done_write = os.pipe()
    victim = os.fork()
    if victim == 0:
        os.close(done_write)
        os.read(done_read, 1)  # ends when the parent closes its end
        os._exit(0)
    reader = os.fork()
    if reader == 0:
        os.close(done_write)
        os._exit(_read_errno(victim, secret))
    status = os.waitstatus_to_exitcode(os.waitpid(reader, 0)[1])
    os.close(done_write)
    os.close(done_read)
    os.waitpid(victim, 0)
    return "" if status == 0 else os.strerror(status) if status > 0 else "the reader was killed"


def _read_errno(pid, secret):
    """0, or the errno of reading `secret` out of process pid."""
    libc = ctypes.CDLL(None, use_errno=True)
    copy = ctypes.create_string_buffer(32)
    local = _IoVec(ctypes.addressof(copy), 32)
    remote = _IoVec(ctypes.addressof(secret), 32)
    count = libc.process_vm_readv(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
    if count != 32 or copy.raw != secret.raw:
        return ctypes.get_errno() or 1
    return 0
