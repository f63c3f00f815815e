"""Groups of processes that the kernel limits, of cgroups version 1 or 2, whichever this machine has. Needs root."""

import contextlib
import errno
import itertools
import os
import pathlib

from skeintest.kernel import await_true

PERIOD_MS = 100
PATIENCE = 10  # seconds, for processes that have been killed
_numbers = itertools.count()


class NoCgroups(Exception):
    """Why this process can make no group with a quota."""


def _own_paths():
    """{list of controllers ("" is version 2's): this process's group}."""
    lines = pathlib.Path("/proc/self/cgroup").read_text().splitlines()
    return {controllers: path for _, controllers, path in (line.split(":", 2) for line in lines)}


def _mounts(kind):
    """(options, mount point, group that is mounted) of each hierarchy of a kind."""
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        before, after = line.split(" - ", 1)
        if after.split()[0] == kind:
            yield after.split()[2].split(","), before.split()[4], before.split()[3]


def _version1_folder():
    path = next((path for controllers, path in _own_paths().items() if "cpu" in controllers.split(",")), None)
    mount = next((each for each in _mounts("cgroup") if "cpu" in each[0]), None)
    if path is None or mount is None:
        return None
    return pathlib.Path(mount[1], os.path.relpath(path, mount[2]))


def _version2_folder():
    mount = next(iter(_mounts("cgroup2")), None)
    if mount is None or "" not in _own_paths():
        return None
    folder = pathlib.Path(mount[1], os.path.relpath(_own_paths()[""], mount[2]))
    if "cpu" not in (folder / "cgroup.controllers").read_text().split():
        return None
    if "cpu" not in (folder / "cgroup.subtree_control").read_text().split():
        (folder / "cgroup.subtree_control").write_text("+cpu")
    return folder


def _removed(group):
    try:
        group.rmdir()
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return False
    return True


def controllers_of_processor_time():
    """Those of the hierarchy of version 1 that limits it, as mount(8) names them; "" where that is version 2's."""
    return next((controllers for controllers in _own_paths() if "cpu" in controllers.split(",")), "")


@contextlib.contextmanager
def cpu_quota(milliseconds):
    """A new group whose processes together have so much processor time in every 100 ms. Yields the words that, before a
    command, start it in the group. NoCgroups: this process may not make one."""
    try:
        version1 = _version1_folder()
        parent = version1 or _version2_folder()
        if parent is None:
            raise NoCgroups("the cpu controller of cgroups is not mounted here")
        group = parent / f"skein-{os.getpid()}-{next(_numbers)}"
        group.mkdir()
    except OSError as error:
        raise NoCgroups(str(error)) from error
    try:
        quota, period = milliseconds * 1000, PERIOD_MS * 1000
        if version1:
            (group / "cpu.cfs_period_us").write_text(str(period))
            (group / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (group / "cpu.max").write_text(f"{quota} {period}")
        yield ["sh", "-c", 'echo $$ >"$0" && exec "$@"', str(group / "cgroup.procs")]
    finally:
        if not await_true(lambda: _removed(group), PATIENCE):
            raise RuntimeError(f"processes stay in {group}")
