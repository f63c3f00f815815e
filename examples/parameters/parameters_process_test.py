"""Two servers that share the parameters, and workers."""


def test_workers_train_what_servers_share_and_tell_of_a_servers_end(start, serve):
    (_, first), (second_process, second) = serve(), serve()
    for each in [start("train", first, second, "--seed", seed) for seed in (1, 2)]:
        assert each.wait(60) == 0, each.log()
        weights = [float(word) for word in each.rest().split("weights:")[1].split()]
        assert all(abs(weight - number) < 0.1 for number, weight in enumerate(weights, 1)), weights
    endless = start("train", first, second, "--rounds", 10**12)
    assert endless.line() == "training"
    second_process.kill()
    assert endless.wait(60) == 1 and "lost server 1" in endless.log()
    gone = start("train", first, second)
    assert gone.wait() == 1 and "connect" in gone.log()


def test_a_server_that_is_full_refuses(start, serve):
    _, full = serve("--max", "3")
    refused = start("train", full)
    assert refused.wait() == 1 and "holds 3 parameters at most" in refused.log()
