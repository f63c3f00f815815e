"""Pods as container engines make them, of plain Linux means: namespaces, cgroups, a seccomp filter. Needs root."""

import contextlib
import os
import pathlib
import shlex
import subprocess
import sys

from skeintest import cgroups, probes
from skeintest.child import Child
from skeintest.kernel import await_true

RELAY = pathlib.Path(__file__).resolve().parents[1] / "system/tcp_relay.py"

# What a container has besides the network, which its pod gives it.
OWN_NAMESPACES = ["--pid", "--fork", "--kill-child", "--mount", "--ipc", "--uts", "--cgroup"]
SIDECAR_PORT, SIDECAR_MARK = 15001, 1337

# /proc as containers have it, or may have it.
OWN_PROC = "mount -t proc proc /proc"
PROCESSES_ALONE = "mount -t proc -o subset=pid proc /proc"
NO_PROC = "mount -t tmpfs none /proc"


def own_cgroups():
    """A script that shows the container its own groups alone."""
    controllers = cgroups.controllers_of_processor_time()
    if not controllers:
        return "mount -t cgroup2 none /sys/fs/cgroup"
    path = f"/sys/fs/cgroup/{controllers}"
    return f"mount -t tmpfs none /sys/fs/cgroup; mkdir {path}; mount -t cgroup -o {controllers} none {path}"


# A file system that refuses each write, as readOnlyRootFilesystem has it.
READ_ONLY_ROOT = """
mount -t tmpfs none /dev/shm
mount -o remount,ro /dev/shm
mount -o remount,bind,ro /
! touch /read-only 2>/dev/null
"""


class Network:
    """A network namespace, which lives as long as the test."""

    def __init__(self, test):
        self._keeper = Child(["unshare", "--net", "--", "sleep", "inf"])
        test.addCleanup(self._keeper.close)
        own = os.stat("/proc/self/ns/net").st_ino
        test.assertTrue(await_true(lambda: os.stat(f"/proc/{self.pid}/ns/net").st_ino != own, 10))
        self.prefix = ["nsenter", f"--net=/proc/{self.pid}/ns/net", "--"]
        self.run("ip link set lo up")

    @property
    def pid(self):
        """Of a process in it."""
        return self._keeper.pid

    def run(self, script):
        subprocess.run([*self.prefix, "sh", "-ec", script], check=True)

    def nft(self, rules):
        subprocess.run([*self.prefix, "nft", "-f", "-"], input=rules, text=True, check=True)


class Pod(Network):
    address = "127.0.0.1"

    def add_sidecar(self, test):
        """Connections from this pod go through a relay in it, as service meshes redirect them."""
        relay = Child([*self.prefix, sys.executable, "-B", RELAY, SIDECAR_PORT, SIDECAR_MARK])
        test.addCleanup(relay.close)
        test.assertEqual(relay.line(), "listening")
        self.nft(f"""
            table ip sidecar {{
              chain out {{
                type nat hook output priority -100
                meta mark != {SIDECAR_MARK} oif != "lo" ip protocol tcp redirect to :{SIDECAR_PORT}
              }}
            }}""")


class Node(Network):
    """A host that forwards between its pods."""

    def __init__(self, test):
        super().__init__(test)
        self.run("echo 1 >/proc/sys/net/ipv4/ip_forward")
        self._test = test
        self._pods = 0

    def pod(self):
        self._pods += 1
        net = f"10.66.{self._pods}"
        pod = Pod(self._test)
        pod.address = f"{net}.2"
        self.run(
            f"ip link add pod{self._pods} type veth peer name eth0 netns {pod.pid}\n"
            f"ip address add {net}.1/24 dev pod{self._pods}; ip link set pod{self._pods} up"
        )
        pod.run(
            f"ip address add {pod.address}/24 dev eth0; ip link set eth0 up; ip route add default via {net}.1"
        )
        return pod

    def serve(self, address, pod, masquerade=False):
        """A ClusterIP: connections to it reach the pod. `masquerade`: and seem to come from the node."""
        rules = f"""
            table ip service {{
              chain to {{
                type nat hook prerouting priority dstnat
                ip daddr {address} dnat to {pod.address}
              }}
              chain from {{
                type nat hook postrouting priority srcnat
                {"masquerade" if masquerade else ""}
              }}
            }}"""
        self.nft(rules)


def _become(user, *privileges):
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *privileges, "--"]


@contextlib.contextmanager
def container(pod, *, user=None, root_is=None, quota=None, mounts=(OWN_PROC,)):
    """The words that start a program in a container of the pod. `user`: its number; `root_is`: in a user namespace, as
    its root, who is that user on the host; `quota`: in ms of every 100."""
    unshare = ["unshare", *OWN_NAMESPACES]
    if root_is is not None:
        unshare = [*_become(root_is), *unshare, "--user", "--map-root-user"]
    mounts = [*mounts, own_cgroups()] if quota is not None else mounts
    prepare = ["sh", "-ec", "\n".join(mounts) + '\nexec "$@"', "sh"]
    become = []
    if user is not None:
        become = _become(user, "--inh-caps=-all", "--bounding-set=-all")
    with contextlib.ExitStack() as stack:
        limited = [] if quota is None else stack.enter_context(cgroups.cpu_quota(quota))
        yield [*limited, *pod.prefix, *unshare, "--", *prepare, str(probes.binary("container_filter")), *become]


def volumes(*mounts):
    """A script that mounts (directory of the host, path in the container, whether for reading alone) each. Where there
    is no such path, an empty file system takes the place of its parent."""
    missing = {os.path.dirname(path) for _, path, _ in mounts if not os.path.isdir(path)}
    lines = [f"mount -t tmpfs none {shlex.quote(parent)}" for parent in sorted(missing)]
    for source, path, read_only in mounts:
        path = shlex.quote(path)
        lines += [f"mkdir -p {path}", f"mount --bind {shlex.quote(str(source))} {path}"]
        lines += [f"mount -o remount,bind,ro {path}"] * read_only
    return "\n".join(lines)


def exec_in(program, words):
    """What `kubectl exec` does: a process as the program is, in its container and with its variables."""
    process = pathlib.Path(f"/proc/{program.pid}")
    into = ["nsenter", "--target", process.name, "--mount", "--net", "--pid", "--ipc", "--uts", "--cgroup", "--"]
    variables = [word for word in (process / "environ").read_text().split("\0") if word]
    command = [*into, *_become(process.stat().st_uid), "env", "-i", *variables, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
