"""service_faults.py BUILD [OPTION of tests/system/faults/faults.py...]: its faults, of processes that use RDMA through skeind; and
skeind itself killed and stopped. In one guest, whose skeind has both ends of each connection."""

import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/system/faults"), str(ROOT / "tests")]

import faults  # noqa: E402
import skeind  # noqa: E402
from skeintest import guests, loads  # noqa: E402

# A stopped skeind is noticed by connections that have something to say, when it has answered nothing for that long.
RETURN_TIME = 60  # seconds

# What an emulated processor can do.
SLOW = ["--host", guests.ADDRESS, "--deadline", "10", "--recovery", "20", *guests.SLOW]


def meets_again(scene, address, row):
    """A new connection, which must go through skeind: it is there again once the settle time has passed."""
    start = time.monotonic()
    while True:
        newcomer, seen = scene.client(address, mode="prefer"), loads.Sum()
        faults.await_calls(newcomer, row, to=seen)
        newcomer.kill()
        if not seen.over_other_than("rdma"):
            return
        if time.monotonic() - start > RETURN_TIME:
            row.problems.append(f"{RETURN_TIME} s after skeind was back calls went over {seen.paths}")
            return


def skeind_fails(fail, mend):
    """A fault: `fail(skeind)` ends its service for all, `mend(skeind)` begins it again. Meanwhile calls go over TCP."""

    def fault(scene, row):
        row.allowed, row.path, row.alone = scene.gone | scene.silent, "", True
        server = scene.server(mode="prefer")
        address = server.address()
        client = scene.client(address, mode="prefer")
        faults.await_calls(client, row)
        while row.times < scene.options.times:
            scene.pause()
            fail(scene.options.skeind)
            row.times += 1
            row.recoveries.append(faults.await_calls(client, row))
            mend(scene.options.skeind)
            meets_again(scene, address, row)
            # The next fault is to find connections that go through skeind, and not those that have stayed on TCP.
            client.kill()
            client = scene.client(address, mode="prefer")
            faults.await_calls(client, row)

    return fault


FAULTS = {
    **faults.FAULTS,
    "skeind-killed": skeind_fails(skeind.Skeind.kill, skeind.Skeind.start),
    "skeind-stopped": skeind_fails(skeind.Skeind.freeze, skeind.Skeind.go_on),
}


def main():
    build, *arguments = sys.argv[1:]
    options = faults.parse_arguments(FAULTS, ["--build", build, *SLOW, *arguments])
    before = guests.rdma_objects()
    options.skeind = skeind.give_rdma(options.build)
    options.path = options.path or ["rdma"]
    options.settings = {**guests.SETTINGS, **options.settings}
    print(f"--seed={options.seed}", flush=True)
    results = faults.run_all(options, FAULTS)
    return guests.verdict([*results, options.skeind.ends_well()], before)


if __name__ == "__main__":
    sys.exit(main())
