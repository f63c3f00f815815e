"""A server process, and clients that put and get."""


def test_the_newest_value_of_each_key_is_got(start, serve):
    _, address = serve()

    def ask(*words):
        client = start(address, *words)
        return client.wait(), client.rest()

    assert ask("get", "goose")[0] == 1, "nobody has put it yet"
    for number in range(20):
        assert ask("put", f"goose {number}", f"in flight {number}")[0] == 0
    assert ask("put", "goose 7", "landed")[0] == 0, "the newest value counts"
    for number in range(20):
        expected = "landed" if number == 7 else f"in flight {number}"
        assert ask("get", f"goose {number}") == (0, expected + "\n")
    assert ask("put", "k" * 24, "")[0] == 1, "too long a key"


def test_a_client_without_a_server_says_so(start, serve):
    server, address = serve()
    server.kill()
    gone = start(address, "get", "goose 1")
    assert gone.wait() == 1 and "connect" in gone.log()
