"""link_faults.py BUILD [OPTION of tests/system/faults/faults.py...]: the link between a client and its server, of two guests, loses
packets, changes them, mixes them up; goes down for a while; their device is removed; the server's power is cut. All under
load, each byte of which is checked. Somebody else sends packets in their names. Of `--times`: how often a link goes down.
Connections that do not cross the link, within the client's guest, are unaffected; and who lives through it all, in either
guest, holds in the end what it held before."""

import contextlib
import functools
import itertools
import json
import pathlib
import signal
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/system/faults"), str(ROOT / "tests")]

import faults  # noqa: E402
import rows  # noqa: E402
from skeintest import guests, loads  # noqa: E402
from skeintest.child import Child  # noqa: E402
from skeintest.guests import shell  # noqa: E402

# What an emulated processor can do.
SLOW = ["--host", guests.ADDRESS, "--deadline", "10", "--recovery", "20", *guests.SLOW]
# Skein's default: 67 ms. Each packet that is lost behind the others costs that.
SOON = {"SKEIN_RDMA_TIMEOUT": "14"}
SERVER = "10.9.0.1"
RATE_TIME = 5  # seconds for each of --times
# TCP, which doubles its waits, may tell of a connection's end again only as long after an outage as that took.
RETURN_TIME = 30


class Servers:
    """In the server guest, which runs commands, too."""

    def __init__(self, options):
        self._options = options
        self._running = {}  # by address
        self._answers = {"shell": shell, "server": self._start, "settled": self._settled, "kept": self._kept}

    def answer(self, question):
        verb, _, rest = question.partition(" ")
        return self._answers[verb](rest)

    def _start(self, how):
        framework, path, where = how.split()
        mode = "off" if path == "tcp" else "prefer"
        server = loads.Server(self._options.build, framework, path, where, settings=self._options.settings, mode=mode)
        where = server.address()
        self._running[where] = server
        return where

    def _settled(self, where):
        return json.dumps(rows.settled(self._running[where]))

    def _kept(self, how):
        """What is wrong with what a server holds now."""
        where, slack, before = how.split(" ", 2)
        row = rows.Row("", slack=int(slack), patience=RETURN_TIME)
        rows.check_holdings(row, self._running[where], json.loads(before))
        return "; ".join(row.problems)

    def stop(self):
        """Whether each ends when asked."""
        return [server.end_fault() == "" for server in self._running.values()]


questions = itertools.count()


def ask(question):
    return guests.ask(next(questions), question)


def shell_there(command):
    return ask("shell " + command)


@functools.cache
def address(framework, path):
    """Of a server, which is there from now on."""
    return ask(f"server {framework} {path} {SERVER}:0")


def client_of(scene, **how):
    return scene.client(address(scene.framework, scene.path), **how)


@contextlib.contextmanager
def neighbours(scene, row, path):
    """A client and a server of this guest, whose connections cross no link, nor notice what happens meanwhile."""
    row.beside, row.patience = "" if path == "tcp" else path, RETURN_TIME
    # Rates are measured beside them.
    server = scene.server(path=path, prefix=["nice"])
    client = scene.client(server.address(), path=path, prefix=["nice"], flags=["--threads=1"])
    faults.await_neighbour(client, row)
    before = {one: rows.settled(one) for one in (server, client)}
    yield
    for one, held in before.items():
        rows.check_holdings(row, one, held)
    row.neighbours.add(client.last_report()[0])


@contextlib.contextmanager
def lasting_client(scene, row, path=None, lasting_server=True):
    """One that lives through it all, as its server does mostly, beside neighbours; everybody holds as much as before then."""
    client, where = client_of(scene), address(scene.framework, scene.path)
    with neighbours(scene, row, path or scene.path):
        faults.await_calls(client, row)
        scene.remember(client)
        there = ask(f"settled {where}")
        yield client
        if lasting_server and (problem := ask(f"kept {where} {row.slack} {there}")):
            row.problems.append(f"there {problem}")


def rate_of(client, scene, row):
    """MB/s of calls that went well, for a while."""
    faults.await_calls(client, row)
    start = time.monotonic()
    time.sleep(RATE_TIME * scene.options.times)
    report = client.report()[0]
    row.calls.add(report)
    return report["bytes"] / (time.monotonic() - start) / 1e6


def bad_link(what, share=0.0):
    """A fault: the link does `what` to packets, of both sides. So much of the rate without must be left, if there is time to
    measure it."""

    def fault(scene, row):
        row.allowed = scene.gone | scene.silent
        with lasting_client(scene, row) as client:
            clean = rate_of(client, scene, row)
            for run in (shell, shell_there):
                run(f"tc qdisc replace dev eth0 root netem {what}")
            try:
                bad = rate_of(client, scene, row)
                newcomer = client_of(scene)
                faults.await_calls(newcomer, row)
            finally:
                for run in (shell, shell_there):
                    run("tc qdisc del dev eth0 root")
            newcomer.kill()
            row.recoveries.append(faults.await_calls(client, row))
        row.times = scene.options.times
        row.title += f", {clean:.2f} MB/s without, {bad:.2f} with"
        if bad < share * clean and scene.options.times > 1:
            row.problems.append(f"less than {100 * share:.0f} % of the rate")

    return fault


def link_down(seconds):
    """A fault: either end's link goes down for so long. (With it goes what a device has to say to itself: neighbours use
    shared memory.)"""

    def fault(scene, row):
        row.allowed = scene.gone | scene.silent
        with lasting_client(scene, row, "shm") as client:
            while row.times < scene.options.times:
                scene.pause()
                run = scene.chance.choice((shell, shell_there))
                run("ip link set eth0 down")
                time.sleep(seconds)  # the outage itself
                run("ip link set eth0 up")
                row.times += 1
                row.recoveries.append(faults.await_calls(client, row))

    return fault


# Nothing that runs there learns of it, and no packet tells. The shell that starts it must have ended before.
POWER_CUT = "setsid sh -c 'sleep 1; echo b >/proc/sysrq-trigger' >/dev/null 2>&1 &"


def power_cut(scene, row):
    """The server's guest dies at once; a while later there is another one in its place, which has never heard of anybody."""
    row.allowed = scene.gone | scene.silent
    where = address(scene.framework, scene.path)
    with lasting_client(scene, row, lasting_server=False) as client:
        while row.times < scene.options.times:
            guests.tell("cut")  # to vm.sh
            shell_there(POWER_CUT)
            guests.wait_for_boot()
            ask(f"server {scene.framework} {scene.path} {where}")
            row.times += 1
            row.recoveries.append(faults.await_calls(client, row))


def device_removed(scene, row):
    """Soft-RoCE cannot take a device from those who use it, nor tell them: it waits for the last to let go."""
    row.path = ""
    with neighbours(scene, row, "shm"):
        for _ in range(scene.options.times):
            client = client_of(scene, mode="prefer")
            faults.await_calls(client, row)
            removal = Child(["rdma", "link", "delete", "rxe0"])
            row.recoveries.append(faults.await_calls(client, row))
            client.kill()
            removal.wait(30)
            removal.close()
            without, beside = loads.Sum(), client_of(scene, mode="prefer")
            faults.await_calls(beside, row, to=without)
            if without.over_other_than("tcp") or without.other_than(loads.FINE):
                row.problems.append(f"without a device, calls ended with {without.statuses}, over {without.paths}")
            guests.give_device()
            row.recoveries.append(faults.await_calls(beside, row))
            beside.kill()
            row.times += 1
            again = client_of(scene)  # which requires it
            faults.await_calls(again, row)
            again.kill()


def forged(known):
    """A fault: packets that nobody has sent, in the client's name. Their forger knows queue pairs' numbers; what comes next on
    each (`known`), or only guesses. Meanwhile the client is stopped: so nothing else arrives, and what is known stays right."""

    def fault(scene, row):
        row.allowed = scene.silent | scene.gone if known else scene.silent
        sent = came = ended = 0
        with lasting_client(scene, row) as client:
            while row.times < scene.options.times:
                scene.pause()
                start = time.monotonic()
                client.signal(signal.SIGSTOP)
                targets = queue_pairs()
                came -= packets_at_server()
                sent += forge(scene.chance, targets, known)
                came += packets_at_server()
                client.signal(signal.SIGCONT)
                row.times += 1
                row.recoveries.append(faults.await_calls(client, row, forgiven=time.monotonic() - start))
                left = {pair["lqpn"] for pair in queue_pairs()}
                ended += sum(pair["lqpn"] not in left for pair in targets)
        row.title += f", {came} of {sent} packets taken, {ended} of {sent // FORGED} queue pairs ended"
        if not known and came < 0.9 * sent:
            row.problems.append("packets did not come: they were forged badly")
        if known and ended == 0:
            row.problems.append("no queue pair ended: nothing was known")

    return fault


FORGER = pathlib.Path(__file__).resolve().parent / "forge.py"
FORGED = 500  # packets for each queue pair


def forge(chance, targets, known):
    """How many packets."""
    where = []
    for pair in targets:
        requests, answers = (pair["rq-psn"], pair["sq-psn"]) if known else (chance.getrandbits(24), chance.getrandbits(24))
        where.append(f"{pair['lqpn']}:{requests}:{answers}:{FORGED}")
    if not where:
        raise RuntimeError("the server has no queue pair")
    shell(f"python3 -B {FORGER} {guests.ADDRESS} {SERVER} {chance.getrandbits(32)} {' '.join(where)}")
    return FORGED * len(where)


def queue_pairs():
    """The server's, of connections."""
    pairs = json.loads(shell_there("rdma -j resource show qp"))
    return [pair for pair in pairs if pair.get("type") == "RC" and pair.get("state") == "RTS"]


def packets_at_server():
    """That its device has taken for one of its queue pairs, their checksum being right."""
    return int(shell_there(f"cat {guests.COUNTERS}/rcvd_pkts"))


FAULTS = {
    "forged-guessed": forged(known=False),
    "forged-known": forged(known=True),
    "loss-1": bad_link("loss 1%", 0.5),
    "loss-5": bad_link("loss 5%", 0.1),
    "corrupt-2": bad_link("corrupt 2%"),
    "reorder-25": bad_link("delay 2ms reorder 25%"),
    "duplicate-20": bad_link("duplicate 20%"),
    "down-1": link_down(1),
    "down-5": link_down(5),
    "down-20": link_down(20),
    "device-removed": device_removed,
    "power-cut": power_cut,
}


def main():
    build, *arguments = sys.argv[1:]
    options = faults.parse_arguments(FAULTS, ["--build", build, *SLOW, *arguments])
    options.settings = {**guests.SETTINGS, **SOON, **options.settings}
    options.path = options.path or ["rdma"]
    before = guests.rdma_objects()
    if guests.ROLE == "server":
        servers = Servers(options)
        guests.answer_questions(servers.answer, 24 * 3600)
        return guests.verdict(servers.stop(), before)
    print(f"--seed={options.seed}", flush=True)
    try:
        return guests.verdict(faults.run_all(options, FAULTS), before)
    finally:
        guests.tell("done")
        guests.await_server()


if __name__ == "__main__":
    sys.exit(main())
