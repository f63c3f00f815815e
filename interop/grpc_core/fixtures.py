"""The fixtures that are run of gRPC's suite, what a connection of each must go over, and the cases that are meant for it."""

import dataclasses
import types


@dataclasses.dataclass(frozen=True)
class Fixture:
    name: str  # of gRPC's, and of the program
    over: str  # the path of its connections under Skein; '' when they never come by a handshake, and stay as they are


FIXTURES = (
    Fixture("h2_full", "shm"),
    Fixture("h2_compress", "shm"),
    Fixture("h2_ssl_tls12", "shm"),
    Fixture("h2_ssl_tls13", "shm"),
    Fixture("h2_uds", "shm"),
    Fixture("h2_fd", ""),  # both ends are given a descriptor
    Fixture("h2_sockpair", ""),  # both transports are made on a pair of sockets
)

# Calls that end before, or without, a connection; or the fixture is without what the case asks for, and nothing is called.
MAY_NEVER_CONNECT = {
    "authority_not_supported",
    "bad_hostname",
    "call_creds",
    "cancel_before_invoke",
    "cancel_in_a_vacuum",
    "cancel_with_status",
    "empty_batch",
    "negative_deadline",
    "no_op",
    "retry_cancel_after_first_attempt_starts",
    "retry_lb_drop",
    "retry_lb_fail",
    "shutdown_finishes_tags",
}


class Suite:
    """gRPC's own table of fixtures, cases, and which go together: Starlark, as far as it matters here also Python."""

    def __init__(self, source):
        self._table = {"load": lambda *_: None, "struct": types.SimpleNamespace}
        exec((source / "test/core/end2end/generate_tests.bzl").read_text(), self._table)  # pylint: disable=exec-used

    def cases(self, fixture):
        """The names of the cases that are meant for this fixture."""
        wanted = self._table["END2END_FIXTURES"][fixture.name]
        return [name for name, case in self._table["END2END_TESTS"].items() if self._table["_compatible"](wanted, case)]
