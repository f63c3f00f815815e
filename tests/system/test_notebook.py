"""A server of durable Thrift calls is killed at any moment, again and again, while clients call. At the end no call is lost
that a client knew to be safe, none is done twice or out of its client's order, and none that was answered is executed
again."""

import collections
import random
import time

from skeintest import durable
from skeintest.child import PATIENCE
from skeintest.kernel import await_true

LONGEST_LIFE = 0.2  # seconds of every second server, from its start; also before it listens, and while it replays
CLIENT_EVERY = 10  # kills of the server, one of a client


def kill(server):
    """Returns what it has executed again."""
    assert not server.ended(), f"the server has ended by itself: {server.log()}"
    server.kill()
    return [line.split()[1] for line in server.log().splitlines() if line.startswith("again ")]


def events(client):
    """Lines as words; the last one may be torn when it was killed."""
    return [line.split() for line in client.log().split("\n")[:-1]]


def safe_calls(clients):
    """What they have been told is safe so far."""
    return sum(client.log().count("persisted ") for client in clients)


def test_a_killed_notebook_loses_nothing_that_was_safe_and_repeats_nothing(build, tmp_path, kills, seed):
    kills = kills or 10
    print(f"{kills} kills, --seed={seed}", flush=True)
    chance = random.Random(seed)
    service = durable.Service(build, "thrift", tmp_path)
    started = service.start_and_listen()
    assert started.startswith("listening"), started
    clients = [service.caller(0, carrier) for carrier in ("tcp", "skein", "skein")]
    living = list(clients)
    again = []  # (call, when the server was started that did it)
    try:
        for number in range(kills):
            started = time.monotonic_ns()
            if number > 0:
                service.start()
            if number % 2 == 0:  # it is to serve; the others may be killed at any moment of their lives
                before = safe_calls(living)
                assert await_true(lambda: safe_calls(living) > before, PATIENCE), service.server.log()
            time.sleep(chance.uniform(0, LONGEST_LIFE))  # the moment of the kill
            again += [(call, started) for call in kill(service.server)]
            if number % CLIENT_EVERY == CLIENT_EVERY - 1:
                living.pop(chance.randrange(len(living))).kill()
                living.append(service.caller(0))
                clients.append(living[-1])
        service.start()
        started = time.monotonic_ns()
        for client in living:
            assert client.end(60) == 0, client.log()
        again += [(call, started) for call in kill(service.server)]
        judge(tmp_path, kills, clients, living, again)
    finally:
        service.close()


def judge(folder, kills, clients, living, again):
    places = collections.defaultdict(list)  # in the notebook, by call
    order = collections.defaultdict(list)  # of a client's calls
    for number, line in enumerate((folder / "notebook").read_text().splitlines(), 1):
        call = line.split(" ", 1)[1]
        places[call].append(number)
        order[call.split("-")[0]].append(int(call.split("-")[1]))
    twice = [call for call, numbers in places.items() if len(numbers) > 1]
    lost, wrong, answered_twice, answers = [], [], [], {}
    safe = calls = 0
    for client in clients:
        for event in events(client):
            if event[0] == "persisted":
                safe += 1
                lost += [event[1]] if event[1] not in places else []
            elif event[0] == "reply":
                answered_twice += [event[1]] if event[1] in answers else []
                answers[event[1]] = int(event[2])
                wrong += [event[1]] if places[event[1]] != [int(event[3])] else []
        if client in living:
            last, count = events(client)[-1]
            assert last == "done"
            calls += int(count)
            assert sum(event[0] == "persisted" for event in events(client)) == int(count)
    executed_after_answer = [call for call, started in again if answers.get(call, started) < started]
    out_of_order = [name for name, sequences in order.items() if sequences != list(range(1, len(sequences) + 1))]
    print(f"kills {kills}, clients {len(clients)}, calls safe {safe} (of clients that lived to the end: {calls} of "
          f"{calls}), answered {len(answers)}, lines {len(order) and sum(map(len, order.values()))}; "
          f"lost {len(lost)}, written twice {len(twice)}, answered twice {len(answered_twice)}, wrong answers "
          f"{len(wrong)}, out of order {len(out_of_order)}, handlers run again {len(again)}, of these after their "
          f"answer {len(executed_after_answer)}")  # fmt: skip
    assert (lost, twice, answered_twice, wrong, out_of_order, executed_after_answer) == ([], [], [], [], [], [])
