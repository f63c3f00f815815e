"""What the examples' tests do with a program whose server prints "serving at ADDRESS"."""

import contextlib

import pytest

from skeintest.child import Child


@pytest.fixture
def program(build, request):
    """The example that is called as the test's folder is."""
    name = request.path.parent.name
    return build / "examples" / name / name


@pytest.fixture
def start(program):
    """Starts the example's program, which is gone when the test is."""
    with contextlib.ExitStack() as started:
        yield lambda *words: started.enter_context(Child([program, *words]))


@pytest.fixture
def serve(start):
    """Starts a server. Gives (process, address)."""

    def serving(*options):
        server = start("serve", "127.0.0.1:0", *options)
        return server, server.line().split()[-1]

    return serving


@pytest.fixture
def kill_in_a_call():
    """Of a server and a client: the server cannot have answered the line when it dies. What the client ends with."""

    def kill(server, client, line):
        server.freeze()
        client.send(line)
        server.kill()
        return client.wait(60), client.log()

    return kill
