"""What a process logged about the paths of its connections, and whether that is what a pairing must give."""

import re

# skein: client ipv4:127.0.0.1:50052 uses tcp: the peer does not speak Skein
LINE = re.compile(r"skein: (client|server) (\S+) uses (\w+)(?:: *(.*\S))?")


def paths_in(log):
    """(side, address, path, reason) of each connection, in the order logged."""
    return [match.groups(default="") for match in LINE.finditer(log)]


def fault(log, side, peer_is_skein, fabric="shm"):
    """What is wrong with the paths that a Skein process on `side` logged, or '' when they are as they must be."""
    paths = [path for path in paths_in(log) if path[0] == side]
    if not paths:
        return f"the {side} logged no path: was it preloaded?"
    for _, address, path, reason in paths:
        if peer_is_skein and path != fabric:
            return f"the {side}'s connection with {address} uses {path}: {reason or 'no reason given'}"
        if not peer_is_skein and path != "tcp":
            return f"the {side}'s connection with the plain peer {address} uses {path}"
        if not peer_is_skein and not reason:
            return f"the {side}'s connection with {address} uses tcp, but gives no reason"
    return ""


def plain_fault(log):
    """A process without the preload library knows nothing of Skein; if it does, the pairing is not what it is called."""
    return "a plain process logged a path of Skein's" if paths_in(log) else ""
