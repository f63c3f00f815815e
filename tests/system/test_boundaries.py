"""Users and namespaces: who shares memory with whom, and the reason where that must not be, which is one at both ends."""

import os
import subprocess
import unittest

from skeintest import kernel, loads, probes
from skeintest.cases import LoadTest, ProcessTest
from skeintest.kernel import held

STRANGER = 4321  # a user of whom no namespace below knows
AS_STRANGER = ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups", "--"]
OVER_TCP = "tcp: different user (users 0 and 65534; skein.peer_users at both ends may allow it)"
UNMAPPED = "tcp: different user (65534 is the number of all whom an end's user namespace has none for"
NETWORK = "tcp: different network namespace or host"
OWN_PIDS = ["unshare", "--pid", "--fork", "--kill-child", "--"]


def permits(*command):
    """Whether the kernel lets us do this here."""
    try:
        return subprocess.run([*command, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def with_boundary(*command):
    return unittest.skipUnless(permits(*command), f"not permitted here: {' '.join(command)}")


def user_namespace(number):
    """In which the user that makes it has that number, and no other user has any."""
    return ["unshare", "--user", f"--map-user={number}", "--"]


def with_mounts(script):
    """A mount namespace that `script` has changed."""
    return ["unshare", "--mount", "--", "sh", "-ec", f'{script}; exec "$@"', "sh"]


as_root = unittest.skipUnless(os.geteuid() == 0, "only root can become another user")


class BoundaryTest(ProcessTest):
    def everyones(self):
        folder = self.scratch()
        probes.copy_for_everyone(folder)
        return folder

    def assert_both(self, server, client, path):
        self.assert_calls_succeed(client, count=10, size=100_000)
        self.assert_path(client, path)
        self.assert_path(server, path)

    def assert_uses(self, path, server_prefix, client_prefix, folder=None):
        """Also the other way round."""
        for prefixes in ((server_prefix, client_prefix), (client_prefix, server_prefix)):
            with self.subTest(server=prefixes[0], client=prefixes[1]):
                server = self.server(prefix=prefixes[0], folder=folder)
                self.assert_both(server, self.client(server.address, prefix=prefixes[1], folder=folder), path)


@as_root
class Users(BoundaryTest):
    def assert_falls_back(self, server_options, client_options):
        folder = self.everyones()
        server = self.server(folder=folder, **server_options)
        self.assert_both(server, self.client(server.address, folder=folder, **client_options), OVER_TCP.split(" (")[0])

    def test_a_client_of_another_user_falls_back_to_tcp(self):
        self.assert_falls_back({}, {"prefix": probes.AS_NOBODY})

    def test_a_server_of_another_user_falls_back_to_tcp(self):
        self.assert_falls_back({"prefix": probes.AS_NOBODY}, {})

    def test_a_client_that_has_become_another_user_is_met_as_that_user(self):
        folder = self.everyones()
        server = self.server(folder=folder, prefix=probes.AS_NOBODY)
        client = self.client(server.address, folder=folder)
        self.assert_both(server, client, OVER_TCP)
        self.assertEqual(client.ask("become", probes.NOBODY)["message"], "")
        self.assertFalse(client.ask("open", 1, 10000)["timed_out"], client.log())
        self.assert_both(server, client, "shm")

    def test_a_server_that_has_become_another_user_is_met_as_that_user(self):
        folder = self.everyones()
        server = self.server(folder=folder)
        first = self.client(server.address, folder=folder, prefix=probes.AS_NOBODY)
        self.assert_both(server, first, OVER_TCP)
        self.assertEqual(server.ask("become", probes.NOBODY)["message"], "")
        second = self.client(server.address, folder=folder, prefix=probes.AS_NOBODY)
        self.assert_both(server, second, "shm")

    def test_connections_stay_though_a_client_has_become_another_user(self):
        folder = self.everyones()
        server = self.server(folder=folder)
        client = self.client(server.address, folder=folder)
        self.assert_both(server, client, "shm")
        self.assertEqual(client.ask("become", probes.NOBODY)["message"], "")
        self.assert_both(server, client, "shm")
        self.assertEqual(len(client.paths()), 1, client.log())


@as_root
class AllowedUsers(BoundaryTest):
    """By skein.peer_users, at both ends."""

    def setUp(self):
        self.folder = self.everyones()

    def client_of(self, server, allows):
        return self.client(server.address, folder=self.folder, prefix=probes.AS_NOBODY, arguments=self.naming(allows))

    def pair_of(self, server_allows, client_allows):
        server = self.server(folder=self.folder, arguments=self.naming(server_allows))
        return server, self.client_of(server, client_allows)

    @staticmethod
    def naming(user):
        return {} if user is None else {"skein.peer_users": user}

    def test_users_that_allow_each_other(self):
        for server_allows, client_allows in (("nobody", "root"), (probes.NOBODY, 0)):
            with self.subTest(server_allows=server_allows, client_allows=client_allows):
                server, client = self.pair_of(server_allows, client_allows)
                self.assert_both(server, client, "shm")
                for size in (100, 3_000_000):
                    self.assert_calls_succeed(client, count=20, size=size)
                self.assertEqual(client.ask("parallel", 8, 200, 1000)["statuses"], {"OK": 1600}, client.log())
                pipes = [target for target in kernel.descriptors(server.pid) if target.startswith("pipe:")]
                self.assertFalse(set(pipes) & set(kernel.descriptors(client.pid)), "they have no pipe in common")

    def test_a_killed_peer_is_noticed(self):
        server, client = self.pair_of("nobody", "root")
        self.assert_both(server, client, "shm")
        before = held(server.pid)
        second = self.client_of(server, "root")
        self.assert_both(server, second, "shm")
        second.kill()
        self.assert_holdings_return_to(before, server, "descriptors memfds mappings")
        server.kill()
        self.assertEqual(client.ask("call", 1, 100)["statuses"], {"UNAVAILABLE": 1}, client.log())

    def test_users_of_whom_one_alone_allows_the_other(self):
        server, client = self.pair_of(None, "root")
        self.assert_both(server, client, OVER_TCP)
        server, client = self.pair_of("nobody", None)
        self.assert_calls_succeed(client, count=10, size=100_000)
        self.assert_path(client, "tcp: different user (users 0")

    def test_an_unknown_user_is_named(self):
        client = self.unopened_client(self.server().address, arguments=self.naming("who"))
        self.assertTrue(client.ask("open", 1, 100)["timed_out"])
        self.assertIn('there is no user "who" here', client.ask("call", 1, 10)["message"])


@as_root
@with_boundary(*user_namespace(1000))
class UserNamespaces(BoundaryTest):
    def test_one_user_that_has_two_numbers_shares_memory(self):
        self.assert_uses("shm", [], user_namespace(1000))
        self.assert_uses("shm", user_namespace(1000), user_namespace(2000))

    def test_two_users_that_have_one_number(self):
        folder = self.everyones()
        one = [*probes.AS_NOBODY, *user_namespace(1000)]
        other = [*AS_STRANGER, *user_namespace(1000)]
        self.assert_uses("tcp: different user (users 1000 and 65534; ", one, other, folder)

    def test_a_stranger_whose_number_is_that_of_all_who_have_none(self):
        folder = self.everyones()
        server = self.server(folder=folder, prefix=[*probes.AS_NOBODY, *user_namespace(probes.NOBODY)])
        client = self.client(server.address, folder=folder, prefix=AS_STRANGER)
        self.assert_both(server, client, UNMAPPED)


class Namespaces(BoundaryTest):
    # Of a network namespace nothing leads out but a UNIX socket with a path.
    @with_boundary("unshare", "--net", "--")
    def test_another_network_namespace_is_another_host(self):
        server = self.server([f"--listen=unix:{self.scratch()}/server"])
        self.assert_both(server, self.client(server.address, prefix=["unshare", "--net", "--"]), NETWORK)

    @with_boundary(*OWN_PIDS)
    def test_pid_namespaces_share_memory(self):
        self.assert_uses("shm", [], OWN_PIDS)
        self.assert_uses("shm", OWN_PIDS, OWN_PIDS)


@as_root
@with_boundary("unshare", "--net", "--")
class Rendezvous(BoundaryTest):
    """By skein.rendezvous, between network namespaces."""

    def setUp(self):
        self.directory = self.scratch()
        self.directory.chmod(0o1777)

    def pair_across(self, server_has=True, client_has=True, **client_options):
        # The server's socket is a file as well: nothing else leads from one namespace to the other.
        named = {"skein.rendezvous": self.directory}
        server = self.server([f"--listen=unix:{self.scratch()}/server"], arguments=named if server_has else {})
        return server, self.client(server.address, prefix=["unshare", "--net", "--"],
                                   arguments=named if client_has else {}, **client_options)  # fmt: skip

    def test_a_rendezvous_directory_leads_across_network_namespaces(self):
        server, client = self.pair_across()
        self.assert_both(server, client, "shm")
        self.assertEqual(list(self.directory.iterdir()), [], "files go with their offers")

    def test_a_rendezvous_directory_at_one_end_alone_leads_nowhere(self):
        for has in ({"server_has": False}, {"client_has": False}):
            with self.subTest(**has):
                self.assert_both(*self.pair_across(**has), NETWORK)

    def test_a_directory_that_others_can_move_files_in(self):
        self.directory.chmod(0o777)
        server, client = self.pair_across()
        self.assert_calls_succeed(client)
        self.assert_path(client, "tcp: rendezvous failed (the client's skein.rendezvous: ")
        self.assertIn("(chmod +t)", client.path())
        server, client = self.pair_across(client_has=False)
        self.assert_both(server, client, "tcp: rendezvous failed (the server's skein.rendezvous: ")


@with_boundary("unshare", "--mount", "--")
class Proc(BoundaryTest):
    """No word of /proc is needed."""

    def test_a_proc_of_processes_alone_is_enough(self):
        self.assert_uses("shm", [], with_mounts("mount -t proc -o subset=pid proc /proc"))

    def test_no_proc_is_needed(self):
        no_proc = with_mounts("mount -t tmpfs none /proc")
        self.assert_uses("shm", [], no_proc)
        self.assert_uses("shm", no_proc, no_proc)

    def test_another_boot_id_does_no_harm(self):
        file = self.scratch() / "boot_id"
        file.write_text("01234567-89ab-cdef-0123-456789abcdef\n")
        self.assert_uses("shm", [], with_mounts(f"mount --bind {file} /proc/sys/kernel/random/boot_id"))


class Thrift(LoadTest):
    def setUp(self):
        super().setUp()
        if not (probes.build() / "tests/system/load/thrift_load").exists():
            self.skipTest("built without Thrift")

    def assert_uses(self, path, server_prefix, client_prefix):
        server = self.start(loads.Server, mode="prefer", prefix=server_prefix)
        calls = self.served(self.callers(server.address(), mode="prefer", prefix=client_prefix))
        self.assertEqual(set(calls.paths), {path})

    @with_boundary(*OWN_PIDS)
    def test_pid_namespaces_share_memory_over_thrift(self):
        self.assert_uses("shm", [], OWN_PIDS)

    @with_boundary(*user_namespace(1000))
    def test_one_user_that_has_two_numbers_shares_memory_over_thrift(self):
        self.assert_uses("shm", [], user_namespace(1000))

    @with_boundary("unshare", "--mount", "--")
    def test_no_proc_is_needed_over_thrift(self):
        self.assert_uses("shm", [], with_mounts("mount -t tmpfs none /proc"))


class NamelessMemory(ProcessTest):
    def test_shared_memory_has_no_name_in_a_file_system(self):
        server, client = self.pair()
        self.assert_calls_succeed(client)
        self.assert_path(client, "shm")
        for program in (server, client):
            shared = [line for line in kernel.mappings(program.pid) if " rw-s " in f" {line} "]
            self.assertGreater(len(shared), 0, "over shm, some memory must be shared")
            named = [line for line in shared if "/memfd:skein-" not in line]
            self.assertEqual(named, [])
            self.assertFalse(any("/dev/shm" in name for name in kernel.descriptors(program.pid)))
