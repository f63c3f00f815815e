"""A server process, and clients."""


def test_clients_share_a_cache_that_makes_room_and_tells_of_its_end(start, serve, kill_in_a_call):
    server, address = serve("--memory", "64k")
    first, second = (start("ask", address) for _ in range(2))
    assert first.ask("set goose in-flight") == "set"
    assert second.ask("get goose") == "in-flight", "clients share the cache"
    assert second.ask("delete goose") == "deleted"
    assert first.ask("get goose") == "error: no such key"
    assert first.ask("set goose for-a-while 1") == "set"
    while first.ask("get goose") != "error: no such key":
        pass  # a millisecond
    assert first.ask("get " + "k" * 251).startswith("error: a key has"), "too long a key"
    assert first.ask("set goose " + "v" * (64 << 10)) == "error: larger than the whole cache"
    for number in range(100):
        assert first.ask(f"set goose-{number} {'v' * 1000}") == "set", "a full cache makes room"
    assert first.ask("get goose-0") == "error: no such key", "that has nobody used for longest"
    assert first.ask("get goose-99") == "v" * 1000
    assert first.ask("sing") == "error: there are: set KEY VALUE [MS], get KEY, delete KEY"
    assert second.end() == 0
    status, error = kill_in_a_call(server, first, "get goose-99")
    assert status == 1 and "lost the server" in error, (status, error)


def test_a_client_without_a_server_says_so(start, serve):
    server, address = serve()
    server.kill()
    gone = start("ask", address)
    assert gone.wait() == 1 and "connect" in gone.log()


def test_a_wrong_command_line_is_refused(start):
    assert start("serve").wait() == 2
