"""few_descriptors_test.py --build DIR: one end may have few descriptors, of every number from 8 on. Calls that succeed
over TCP succeed with Skein in mode prefer: over TCP, with the reason, where there are too few for more."""

import argparse
import json
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "load"))

import programs  # noqa: E402

LIMITS = range(8, 41)

build = pathlib.Path()


def report(framework, limited, limit, mode):
    """Of 10 calls by two connections of a client that, or whose server, may have so many descriptors."""
    prefix = {limited: ["prlimit", f"--nofile={limit}:{limit}"]}
    how = {"mode": mode, "settings": {"SKEIN_RDMA": "auto"}}
    server = programs.Server(build, framework, "shm", prefix=prefix.get("server", ()), **how)
    try:
        flags = ["--threads=1", "--connections=2", "--calls_each=5", "--hurried=0", "--most_bytes=100000"]
        client = programs.Client(build, framework, "shm", [server.address()], flags, prefix=prefix.get("client", ()), **how)
        try:
            (found,) = json.loads(client.line(5))
            return found
        finally:
            client.kill()
    finally:
        server.kill()


def well(found):
    return set(found["statuses"]) <= programs.FINE and found["statuses"].get("OK", 0) > 0 and found["wrong"] == 0


def tried(framework, limited, limit, mode):
    try:
        return report(framework, limited, limit, mode)
    except (RuntimeError, TimeoutError) as why:
        return {"statuses": {}, "paths": {}, "wrong": 0, "why": str(why)}


class FewDescriptors(unittest.TestCase):
    def sweep(self, framework, limited):
        paths = set()
        for limit in LIMITS:
            with self.subTest(limit=limit):
                found = tried(framework, limited, limit, "prefer")
                self.assertTrue(well(found) or not well(tried(framework, limited, limit, "off")), found)
                for path in found["paths"]:
                    self.assertRegex(path, "^(shm|tcp: out of resources .*ulimit -n.*)$")
                    paths.add(path.split(":")[0])
        self.assertEqual(paths, {"shm", "tcp"}, "the sweep is to meet both")

    def test_grpc_server(self):
        self.sweep("grpc", "server")

    def test_grpc_client(self):
        self.sweep("grpc", "client")

    def test_thrift_server(self):
        self.sweep("thrift", "server")

    def test_thrift_client(self):
        self.sweep("thrift", "client")


def main():
    global build
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    options, rest = parser.parse_known_args()
    build = options.build.resolve()
    unittest.main(argv=[sys.argv[0], "-v", *rest])


if __name__ == "__main__":
    main()
