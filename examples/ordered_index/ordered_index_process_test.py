"""A server process, and clients."""


def test_clients_get_and_scan_what_others_put(start, serve, kill_in_a_call):
    server, address = serve("--max", "100")
    first, second = (start("ask", address) for _ in range(2))
    for key in range(99, -1, -1):
        assert first.ask(f"put {key} {key * 10}") == "put"
    assert first.ask("put 100 1") == "error: the index holds 100 keys at most"
    assert second.ask("get 42") == "420"
    assert second.ask("get 100") == "error: no such key"
    assert second.ask("scan 97 64") == "97=970 98=980 99=990"
    assert second.ask("count 10 64") == "64"
    assert second.ask("scan 0 4097") == "error: a scan has at most 4096 entries"
    assert second.ask("scan goose").startswith("error: there are")
    status, error = kill_in_a_call(server, second, "get 42")
    assert status == 1 and "lost the server" in error, (status, error)
