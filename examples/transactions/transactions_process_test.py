"""Three servers, clients that run at the same time, and what a death leaves."""

import re

import pytest

SERVERS = 3
BEGIN = 2 * 100_000  # on both of an account's


class Bank:
    """Its servers, and programs that use them."""

    def __init__(self, start, serve, *options):
        self._start = start
        self._options = options
        self.servers = [serve("--server", i, "--servers", SERVERS, *options) for i in range(SERVERS)]

    def start(self, verb, *words):
        return self._start(verb, *words, *(address for _, address in self.servers), *self._options)

    def audit(self):
        """(keys locked, copies that differ, sum of all balances)."""
        audit = self.start("audit")
        said = audit.rest()
        assert audit.wait() == 0, audit.log()
        return tuple(int(number) for number in re.findall(r"-?\d+", said))


def figures(run):
    said = run.rest(100)
    assert run.wait() == 0, run.log()
    return {name: int(number) for name, number in re.findall(r"(\w+) (-?\d+)", said)}


@pytest.fixture
def smallbank(start, serve):
    return Bank(start, serve, "--workload", "smallbank", "--size", 200)


def test_the_sum_of_balances_grows_by_what_clients_paid_in(smallbank):
    assert smallbank.audit() == (0, 0, 200 * BEGIN)
    runs = [
        smallbank.start("run", "--threads", 2, "--transactions", 20, "--seed", seed, "--patience", 60000, *mode)
        for seed, mode in ((1, ()), (2, ("--by-calls",)))
    ]
    done = [figures(run) for run in runs]
    assert all(each["committed"] + each["refused"] == 2 * 19 * 20 for each in done), done
    assert smallbank.audit() == (0, 0, 200 * BEGIN + sum(each["net"] for each in done)), done


def test_tatp_leaves_no_lock_and_copies_that_are_alike(start, serve):
    tatp = Bank(start, serve, "--workload", "tatp", "--size", 200, "--copies", 2)
    done = figures(tatp.start("run", "--transactions", 50))
    assert done["committed"] + done["refused"] == 19 * 50 and done["refused"] > 0, done
    assert tatp.audit() == (0, 0, 0)


def test_a_killed_clients_lock_stays_and_is_named(smallbank):
    client = smallbank.start("hold", 0)  # the first checking account, one of those that most transactions use
    assert client.line() == "holding key 0"
    client.kill()
    assert smallbank.audit()[:2] == (1, 0), "its lock stays"
    run = smallbank.start("run", "--coroutines", 1, "--patience", 20)
    assert run.wait(60) == 1 and re.search(r"key 0 is locked by transaction \d+", run.log()), run.log()
    assert smallbank.audit()[:2] == (1, 0), "others have given theirs back"


def test_a_client_that_was_told_another_number_of_copies_changes_nothing(smallbank):
    for verb, words in (("run", ("--transactions", 1)), ("audit", ())):
        client = smallbank.start(verb, "--copies", 2, *words)
        assert client.wait(60) == 1 and "give all programs the same" in client.log(), client.log()
        assert "it has keys 400, servers 3, copies 3, server number 0, and wanted is" in client.log(), client.log()
        assert "keys 400, servers 3, copies 2, server number 0: give" in client.log(), client.log()
    assert smallbank.audit() == (0, 0, 200 * BEGIN)


def test_a_killed_server_is_named_at_once(smallbank):
    endless = smallbank.start("run", "--transactions", 10**12, "--patience", 60000)
    assert endless.line() == "running"
    smallbank.servers[1][0].kill()
    assert endless.wait(60) == 1 and re.search(r"(lost )?server 1: ", endless.log()), endless.log()
