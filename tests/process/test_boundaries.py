"""Processes that may not share memory, or cannot: TCP, with the reason."""

import os
import subprocess
import unittest

import harness


def permits(*command):
    """Whether the kernel lets us do this here."""
    try:
        return subprocess.run([*command, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def with_boundary(*command):
    return unittest.skipUnless(permits(*command), f"not permitted here: {' '.join(command)}")


class Users(harness.ProcessTest):
    def assert_falls_back(self, server_options, client_options):
        folder = self.scratch()
        harness.copy_for_everyone(folder)
        server = self.server(folder=folder, **server_options)
        client = self.client(server.address, folder=folder, **client_options)
        self.assert_calls_succeed(client, count=10, size=100_000)
        self.assert_path(client, "tcp: different user")
        self.assert_path(server, "tcp: different user")

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_client_of_another_user(self):
        self.assert_falls_back({}, {"prefix": harness.AS_NOBODY})

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_server_of_another_user(self):
        self.assert_falls_back({"prefix": harness.AS_NOBODY}, {})


class Namespaces(harness.ProcessTest):
    def assert_falls_back(self, server, prefix, why):
        client = self.client(server.address, prefix=prefix)
        self.assert_calls_succeed(client, count=10, size=100_000)
        self.assert_path(client, why)
        self.assert_path(server, why)

    # Of a network namespace nothing leads out but a UNIX socket with a path.
    @with_boundary("unshare", "--net", "--")
    def test_network_namespace(self):
        server = self.server([f"--listen=unix:{self.scratch()}/server"])
        self.assert_falls_back(server, ["unshare", "--net", "--"], "tcp: different network namespace")

    @with_boundary("unshare", "--pid", "--fork", "--kill-child", "--")
    def test_pid_namespace(self):
        prefix = ["unshare", "--pid", "--fork", "--kill-child", "--"]
        self.assert_falls_back(self.server(), prefix, "tcp: different pid namespace")


class NamelessMemory(harness.ProcessTest):
    def test_shared_memory_has_no_name_in_a_file_system(self):
        server, client = self.pair()
        self.assert_calls_succeed(client)
        self.assert_path(client, "shm")
        for program in (server, client):
            shared = [line for line in harness.mappings(program.pid) if " rw-s " in f" {line} "]
            self.assertGreater(len(shared), 0, "over shm, some memory must be shared")
            named = [line for line in shared if "/memfd:skein-" not in line]
            self.assertEqual(named, [])
            self.assertFalse(any("/dev/shm" in name for name in harness.descriptors(program.pid)))
