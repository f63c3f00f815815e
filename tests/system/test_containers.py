"""Containers: pods of plain namespaces, cgroups and seccomp filters, and docs/containers.md followed word by word."""

import contextlib
import pathlib
import re
import shutil
import subprocess
import unittest
import yaml

from skeintest import loads, pods, probes
from skeintest.cases import LoadTest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/containers.md"
NOT_OF_THIS_HOST = r"tcp: .*peer's address is not of this host"
NO_OFFER = r"tcp: peer made no offer"
PASSED_ON = r"tcp: .*behind a proxy \(.*the connection comes from another address than its client's"
CLUSTER_IP = "10.96.0.10"
# What Kubernetes tells each container of Services called skein-exporter and skein-rdma.
SERVICE_LINKS = {"SKEIN_EXPORTER_SERVICE_HOST": "10.96.0.11", "SKEIN_RDMA_PORT": "tcp://10.96.0.12:1"}


def run(*words):
    return subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=60, check=False)


def permitted():
    """Whether this process may make what pods are made of."""
    return run("unshare", "--net", *pods.OWN_NAMESPACES, "--", "sh", "-c", pods.OWN_PROC).returncode == 0


class PodTest(LoadTest):
    def container(self, pod, **how):
        stack = contextlib.ExitStack()
        words = stack.enter_context(pods.container(pod, **how))
        self.addCleanup(stack.close)
        return words

    def programs_for_everyone(self):
        folder = self.scratch()
        probes.copy_for_everyone(folder)
        return folder

    def assert_both(self, server, client, at_client, at_server=None):
        self.assert_calls_succeed(client, count=10, size=100_000)
        self.assertRegex(client.path(), f"^{at_client}", client.log())
        self.assertRegex(server.path(), f"^{at_server or at_client}", server.log())

    def assert_grpc(self, path, server_words, client_words, **how):
        server = self.server(prefix=server_words, **how)
        client = self.client(server.address, prefix=client_words, **how)
        self.assert_both(server, client, path)
        return server, client

    def assert_thrift(self, path, server_words, client_words):
        server = self.start(loads.Server, mode="prefer", prefix=server_words)
        calls = self.served(self.callers(server.address(), mode="prefer", prefix=client_words))
        self.assertEqual(set(calls.paths), {path})


@unittest.skipUnless(permitted(), "not permitted here: namespaces")
class OnePod(PodTest):
    """Two containers: one network namespace; pid, mount and other namespaces, cgroups and filters of their own."""

    def setUp(self):
        self.pod = pods.Pod(self)

    def both(self, **how):
        return [self.container(self.pod, **how) for _ in range(2)]

    def test_two_containers_of_a_pod_share_memory(self):
        _, client = self.assert_grpc("shm$", *self.both(quota=30))
        self.assertEqual(client.ask("parallel", 8, 50, 1000)["statuses"], {"OK": 400}, client.log())

    def test_two_containers_of_a_pod_share_memory_over_thrift(self):
        self.assert_thrift("shm", *self.both(quota=30))

    def test_containers_with_user_namespaces_share_memory(self):
        self.assert_grpc("shm$", *self.both(root_is=100_000), folder=self.programs_for_everyone())

    def test_containers_with_user_namespaces_share_memory_over_thrift(self):
        self.assert_thrift("shm", *self.both(root_is=100_000))

    def test_user_namespaces_whose_roots_are_different_users(self):
        words = [self.container(self.pod, root_is=user) for user in (100_000, 200_000)]
        self.assert_grpc("tcp: different user", *words, folder=self.programs_for_everyone())

    def test_a_read_only_root_without_proc(self):
        for proc in (pods.NO_PROC, pods.PROCESSES_ALONE):
            with self.subTest(proc):
                self.assert_grpc("shm$", *self.both(mounts=(proc, pods.READ_ONLY_ROOT)))

    def test_users_share_memory_when_both_allow_it(self):
        folder = self.programs_for_everyone()
        words = [self.container(self.pod, user=user) for user in (1001, 1002)]
        self.assert_grpc(r"tcp: different user \(users 1001 and 1002; skein.peer_users at both ends", *words, folder=folder)
        server = self.server(prefix=words[0], folder=folder, arguments={"skein.peer_users": 1002})
        client = self.client(server.address, prefix=words[1], folder=folder, arguments={"skein.peer_users": 1001})
        self.assert_both(server, client, "shm$")

    def test_the_filter_refuses_what_container_engines_refuse(self):
        words = self.container(self.pod)
        for refused in (["unshare", "--mount", "true"], ["unshare", "--user", "true"]):
            self.assertIn("Operation not permitted", run(*words, *refused).stderr)

    def test_the_command_tells_containers_apart_whose_processes_have_one_number(self):
        ends = dict(zip(("server", "client"), self.assert_grpc("shm$", *self.both())))
        rows = {}
        for role, program in ends.items():
            _, *in_container = pods.exec_in(program, [probes.tool("skein"), "paths"]).stdout.splitlines()
            self.assertEqual([row.split()[0] for row in in_container], ["1"])
            number = str(program.pid)
            from_host = run(*self.pod.prefix, probes.tool("skein"), "paths", number).stdout.splitlines()[1:]
            self.assertEqual([row.split()[0] for row in from_host], [number])
            for row in (*in_container, *from_host):
                self.assertEqual(row.split()[3], role)
            rows[number] = from_host
        listed = run(*self.pod.prefix, probes.tool("skein"), "paths").stdout.splitlines()[1:]
        self.assertEqual({row.split()[0] for row in listed}, set(rows))

    def test_doctor_tells_what_a_quota_leaves(self):
        told = run(*self.container(self.pod, quota=30), probes.tool("skein"), "doctor")
        finding = r"(?m)^warn  processors: 0\.3 of \d+, by the quota in /sys/fs/cgroup/\S*cpu\.\S+$"
        self.assertRegex(told.stdout, finding)
        self.assertIn("resources.limits.cpu", told.stdout)


@unittest.skipUnless(permitted(), "not permitted here: namespaces")
class TwoPods(PodTest):
    """Of one node, which forwards between them."""

    def setUp(self):
        self.node = pods.Node(self)
        self.pods = [self.node.pod() for _ in range(2)]
        self.directory = self.scratch()
        self.directory.chmod(0o1777)

    def server_in(self, pod, named=True, **how):
        arguments = {"skein.rendezvous": "/run/of-server"} if named else {}
        mounts = (pods.OWN_PROC, pods.volumes((self.directory, "/run/of-server", True)))
        return self.server([f"--listen={pod.address}:0"], arguments=arguments,
                           prefix=self.container(pod, mounts=mounts, **how))  # fmt: skip

    def client_in(self, pod, target, named=True, **how):
        # Each has the directory at a path of its own.
        arguments = {"skein.rendezvous": "/run/of-client"} if named else {}
        mounts = (pods.OWN_PROC, pods.volumes((self.directory, "/run/of-client", False)))
        return self.client(target, arguments=arguments, prefix=self.container(pod, mounts=mounts, **how))

    def pair(self, server_named=True, client_named=True, host=None):
        """`host`: what the client believes to be the server's."""
        server = self.server_in(self.pods[0], server_named)
        target = f"{host or self.pods[0].address}:{server.address.rpartition(':')[2]}"
        return server, self.client_in(self.pods[1], target, client_named)

    def test_a_directory_that_both_pods_have_mounted_leads_to_shared_memory(self):
        self.assert_both(*self.pair(), "shm$")
        self.assertEqual(list(self.directory.iterdir()), [], "files go with their offers")

    def test_a_directory_that_both_pods_have_mounted_leads_to_shared_memory_over_thrift(self):
        named = {"settings": {"SKEIN_RENDEZVOUS": "/run/skein"}, "mode": "prefer"}
        mounts = (pods.OWN_PROC, pods.volumes((self.directory, "/run/skein", False)))
        at_server, at_client = (self.container(pod, mounts=mounts) for pod in self.pods)
        server = self.start(loads.Server, f"{self.pods[0].address}:0", prefix=at_server, **named)
        calls = self.served(self.callers(server.address(), prefix=at_client, **named))
        self.assertEqual(set(calls.paths), {"shm"})

    def test_pods_without_a_common_directory_use_tcp_and_say_why(self):
        self.assert_both(*self.pair(server_named=False, client_named=False), NOT_OF_THIS_HOST, NO_OFFER)

    def test_without_it_a_client_that_requires_skein_is_told_why(self):
        server = self.server_in(self.pods[0], named=False)
        words = self.container(self.pods[1])
        client = self.unopened_client(server.address, mode="require", prefix=words)
        client.ask("open", 1, 0)
        report = client.ask("wait_call", 1000)
        self.assertNotIn("OK", report["statuses"])
        told = client.ask("call", 1, 100)
        self.assertEqual(told["statuses"], {"UNAVAILABLE": 1}, client.log())
        self.assertIn("peer's address is not of this host", told["message"])

    def test_a_directory_of_one_pod_alone_leads_nowhere(self):
        self.assert_both(*self.pair(server_named=False), NOT_OF_THIS_HOST)
        self.assert_both(*self.pair(client_named=False), NOT_OF_THIS_HOST, NO_OFFER)

    def test_a_directory_of_another_owner_or_mode(self):
        self.directory.chmod(0o777)
        at_client = r"tcp: .*the client's skein\.rendezvous: /run/of-client "
        self.assert_both(*self.pair(), at_client + r".*chmod \+t", NO_OFFER)
        self.directory.chmod(0o1777)
        shutil.chown(self.directory, 4321)
        self.assert_both(*self.pair(), at_client + "is of user 4321", NO_OFFER)

    def test_a_directory_that_the_server_does_not_trust(self):
        shutil.chown(self.directory, 4321)
        client_alone = self.scratch()
        server = self.server_in(self.pods[0])
        self.directory = client_alone
        client = self.client_in(self.pods[1], server.address)
        self.assert_both(server, client, r"tcp: .*the server's skein\.rendezvous: /run/of-server is of user 4321")

    def test_a_cluster_ip_leads_to_shared_memory(self):
        self.node.serve(CLUSTER_IP, self.pods[0])
        self.assert_both(*self.pair(False, False, host=CLUSTER_IP), NOT_OF_THIS_HOST, NO_OFFER)
        self.assert_both(*self.pair(host=CLUSTER_IP), "shm$")

    def test_a_cluster_ip_behind_which_clients_have_another_address(self):
        self.node.serve(CLUSTER_IP, self.pods[0], masquerade=True)
        self.assert_both(*self.pair(host=CLUSTER_IP), PASSED_ON)

    def test_a_sidecar_that_passes_connections_on(self):
        self.pods[1].add_sidecar(self)
        self.assert_both(*self.pair(), PASSED_ON)
        self.assert_both(*self.pair(False, False), NOT_OF_THIS_HOST, NO_OFFER)


@unittest.skipUnless(permitted(), "not permitted here: namespaces")
class Page(PodTest):
    """docs/containers.md, word by word: what its manifests and its layer of an image say is done here."""

    # What the page calls example/NAME.
    PROGRAMS = {"example/server": "probe_server", "example/client": "probe_client"}

    @classmethod
    def setUpClass(cls):
        text = PAGE.read_text()
        blocks = re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)
        cls.manifests = [list(yaml.safe_load_all(block)) for kind, block in blocks if kind == "yaml"]
        (layer,) = (block for kind, block in blocks if kind == "dockerfile")
        (cls.copied,) = re.findall(r"COPY --from=example/skein /usr/local/lib/(\S+) /usr/local/lib/\n", layer)
        (variables,) = re.findall(r"ENV (.*)", layer)
        cls.variables_of_layer = dict(word.split("=") for word in variables.split())
        (cls.making_directory,) = re.findall(r"(?m)^    (install .*) /run/skein$", text)

    def setUp(self):
        self.node = pods.Node(self)
        self.images = self.scratch()
        self.images.chmod(0o755)
        for program in (*self.PROGRAMS.values(), "container_filter"):
            shutil.copy(probes.binary(program), self.images)
        self.libraries = self.directory()
        for library in (
            probes.preload_library(),
            probes.preload_library().with_name("libskein_grpc.so.1"),
            probes.core_library(),
        ):
            shutil.copy(library, self.libraries)

    def directory(self, mode=0o755):
        path = self.scratch()
        path.chmod(mode)
        return path

    def start(self, manifest, hosts_directory, with_layer=False):
        """What a kubelet does; the programs of the containers, by their names."""
        spec, pod = manifest["spec"], self.node.pod()
        paths = {
            each["name"]: hosts_directory if "hostPath" in each else self.directory(0o777) for each in spec["volumes"]
        }
        for each in spec.get("initContainers", []):
            words = self.words(pod, spec, each, paths, usr_local_lib=self.libraries)
            subprocess.run([*words, *each["command"]], check=True)
        layer = self.layer() if with_layer else None
        return pod, {each["name"]: self.program(pod, spec, each, paths, layer) for each in spec["containers"]}

    def layer(self):
        path = self.directory()
        for library in self.libraries.glob(self.copied):
            shutil.copy(library, path)
        return path

    def program(self, pod, spec, of, paths, layer):
        variables = SERVICE_LINKS if spec.get("enableServiceLinks", True) else {}
        variables = variables | ({} if layer is None else self.variables_of_layer)
        variables.update({each["name"]: each["value"] for each in of["env"]})
        words = self.words(pod, spec, of, paths, usr_local_lib=layer)
        program = probes.Probe(self.PROGRAMS[of["image"]], of["args"], prefix=words, env=variables,
                               transport=probes.Transport.TCP, folder=self.images)  # fmt: skip
        self.addCleanup(program.close)
        return program

    def words(self, pod, spec, of, paths, usr_local_lib):
        security = spec["securityContext"] | of.get("securityContext", {})
        self.assertEqual(security["seccompProfile"], {"type": "RuntimeDefault"})
        mounted = [(paths[each["name"]], each["mountPath"], each.get("readOnly", False)) for each in of["volumeMounts"]]
        if usr_local_lib is not None:
            mounted.append((usr_local_lib, "/usr/local/lib", True))
        mounts = [pods.OWN_PROC, pods.volumes(*mounted)]
        if security.get("readOnlyRootFilesystem"):
            mounts.append(pods.READ_ONLY_ROOT)
        limit = of.get("resources", {}).get("limits", {}).get("cpu")
        quota = None if limit is None else int(limit.removesuffix("m")) // 10
        return self.container(pod, user=security["runAsUser"], quota=quota, mounts=mounts)

    def assert_serves(self, server, client):
        self.assertFalse(server.ask("start")["timed_out"], server.log())
        self.assertFalse(client.ask("open", 1, 10000)["timed_out"], client.log())
        self.assert_both(server, client, "shm$")

    def test_the_pages_pod_of_two_containers_uses_shared_memory(self):
        ((manifest,), _) = self.manifests
        _, started = self.start(manifest, None)
        self.assert_serves(started["server"], started["client"])

    def test_the_pages_two_pods_and_service_use_shared_memory(self):
        (_, (server, service, client)) = self.manifests
        directory = self.directory() / "skein"
        subprocess.run([*self.making_directory.split(), directory], check=True)
        pod, served = self.start(server, directory, with_layer=True)
        self.assertEqual(service["spec"]["selector"], server["metadata"]["labels"])
        self.node.serve(service["spec"]["clusterIP"], pod)
        _, called = self.start(client, directory, with_layer=True)
        self.assert_serves(served["server"], called["client"])

    def test_the_log_and_the_command_tell_of_it(self):
        ((manifest,), _) = self.manifests
        _, started = self.start(manifest, None)
        self.assert_serves(started["server"], started["client"])
        self.assertIn("skein: client ipv4:127.0.0.1:50051 uses shm\n", started["client"].log())
        told = pods.exec_in(started["client"], [probes.tool("skein"), "paths"]).stdout
        self.assertRegex(told, r"(?m)^1 .* grpc +client +\S+ +ipv4:127\.0\.0\.1:50051 +shm\+calls *$")
        told = pods.exec_in(started["client"], [probes.tool("skein"), "doctor", "localhost:50051"]).stdout
        self.assertRegex(told, r"(?m)^ok    localhost:50051 .*: path shm$")
