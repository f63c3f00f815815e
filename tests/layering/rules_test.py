"""Each rule finds its violation in a made-up tree, leaves the harmless neighbour alone, and holds in the real tree."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import rules  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


class MadeUpTree(unittest.TestCase):
    def broken(self, rule, files):
        """'file:line' of what the rule finds in a tree of these files."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return [found.split(": ", 1)[0] for found in rule(rules.Tree(folder))]

    def test_includes_point_downwards(self):
        files = {
            "core/channel/up.h": '#pragma once\n#include "core/link/link.h"\n',
            "core/channel/down.cc": '#include "core/channel/up.h"\n#include "core/base/clock.h"\n',
            "core/stream/adapter.cc": "#include <skein/grpc.h>\n",
            "core/stream/public.cc": "#include <skein/options.h>\n#include <skein/rpc.h>\n",
            "thrift_transport/sideways.cc": '#include "grpc_transport/init.h"\n#include <skein/thrift/socket.h>\n',
            "grpc_transport/down.cc": '#include "core/stream/stream.h"\n',
        }
        self.assertEqual(self.broken(rules.includes_point_downwards, files),
                         ["core/channel/up.h:2", "core/stream/adapter.cc:1", "core/stream/public.cc:2",
                          "thrift_transport/sideways.cc:1"])

    def test_public_headers_stand_alone(self):
        files = {
            "include/skein/grpc.h": "#include <grpcpp/channel.h>\n#include <skein/thrift/socket.h>\n",
            "include/skein/rpc.h": '#include <string>\n#include "core/base/fd.h"\n#include <thrift/Thrift.h>\n',
            "include/skein/thrift/socket.h": "#include <thrift/Thrift.h>\n#include <skein/rpc.h>\n#include <skein/lost.h>\n",
            "include/skein/traced.h": '#include <sys/types.h>\n#include <skein/grpc.h>\n#include "absl/time/time.h"\n',
        }
        self.assertEqual(self.broken(rules.public_headers_stand_alone, files),
                         ["include/skein/grpc.h:2", "include/skein/rpc.h:2", "include/skein/rpc.h:3",
                          "include/skein/thrift/socket.h:2", "include/skein/thrift/socket.h:3",
                          "include/skein/traced.h:2"])

    def test_public_headers_name_no_inner_layer(self):
        files = {
            "include/skein/rpc.h": "namespace skein::stream {\nstd::shared_ptr<stream::Fabrics> all;  // stream::Fabrics\n",
            "include/skein/grpc.h": "namespace skein::grpc_transport {\nstd::ios_base::Init a; upstream::B b;  // link::Link\n",
            "include/skein/options.h": "namespace durable {\nskein::link::Link* a;\nbool trace{false};\nenum class link {\n",
            "include/skein/thrift/socket.h": "using namespace skein::stream;\nnamespace trace\n{\n",
            "core/rpc/options.h": "stream::Fabrics& fabrics;\n",
        }
        self.assertEqual(sorted(self.broken(rules.public_headers_name_no_inner_layer, files)),
                         ["include/skein/options.h:1", "include/skein/options.h:2", "include/skein/rpc.h:1", "include/skein/rpc.h:2",
                          "include/skein/thrift/socket.h:1", "include/skein/thrift/socket.h:2"])

    def test_every_folder_is_a_layer(self):
        files = {"core/misc/a.h": "", "core/loose.cc": "", "core/base/b.h": "", "core/misc/notes.md": ""}
        self.assertEqual(self.broken(rules.every_folder_is_a_layer, files), ["core/loose.cc:1", "core/misc/a.h:1"])

    def test_core_knows_no_framework(self):
        for header in ("<grpcpp/grpcpp.h>", "<grpc/slice.h>", '"src/core/lib/iomgr/closure.h"',
                       "<thrift/transport/TTransport.h>", '"google/protobuf/message.h"', "<skein/grpc.h>", "<skein/thrift/socket.h>"):
            files = {"core/base/a.cc": f"#include <string>\n#  include {header}\n", "examples/a.cc": f"#include {header}\n"}
            self.assertEqual(self.broken(rules.core_knows_no_framework, files), ["core/base/a.cc:2"], header)

    def test_one_file_sees_grpc_internals(self):
        text = '#include "src/core/lib/iomgr/endpoint.h"\n'
        files = {"grpc_transport/iomgr/grpc_internal.h": text, "grpc_transport/endpoint.cc": text, "tests/unit/a_test.cc": text}
        self.assertEqual(self.broken(rules.one_file_sees_grpc_internals, files),
                         ["grpc_transport/endpoint.cc:1", "tests/unit/a_test.cc:1"])

    def test_adapters_for_grpc_stand_apart(self):
        files = {
            "grpc_transport/common/negotiation.cc": '#include "grpc_transport/iomgr/runtime.h"\n',
            "grpc_transport/event_engine/engine.cc": '#include "grpc_transport/common/negotiation.h"\n#include "grpc_transport/iomgr/runtime.h"\n',
            "grpc_transport/iomgr/handshaker.cc": '#include "grpc_transport/common/negotiation.h"\n',
            "grpc_transport/durable/marks.cc": '#include "grpc_transport/common/log.h"\n',
        }
        self.assertEqual(self.broken(rules.adapters_for_grpc_stand_apart, files),
                         ["grpc_transport/common/negotiation.cc:1", "grpc_transport/event_engine/engine.cc:2", "grpc_transport/durable/marks.cc:1"])

    def test_own_includes_start_at_the_root(self):
        files = {
            "core/base/a.h": "",
            "core/base/near.cc": '#include "a.h"\n',
            "core/channel/dots.cc": '#include "../base/a.h"\n',
            "core/channel/right.cc": '#include "core/base/a.h"\n#include <string.h>\n#include "absl/status/status.h"\n',
        }
        self.assertEqual(self.broken(rules.own_includes_start_at_the_root, files),
                         ["core/base/near.cc:1", "core/channel/dots.cc:1"])

    def test_policies_are_pure(self):
        for header in ("<thread>", "<random>", "<time.h>", '"absl/time/clock.h"', '"core/wire/message.h"'):
            files = {"core/schedule/a.cc": f'#include <vector>\n#include "core/base/b.h"\n#include {header}\n',
                     "core/schedule/b.cc": '#include "absl/status/status.h"\n#include "core/schedule/a.h"\n',
                     "core/link/a.cc": f"#include {header}\n"}
            self.assertEqual(self.broken(rules.policies_are_pure, files), ["core/schedule/a.cc:3"], header)

    def test_durable_state_knows_no_fabric(self):
        files = {
            "core/durable/log/log.h": '#include "core/durable/storage/a.h"\n#include "core/base/a.h"\n#include <string>\n',
            "core/durable/log/up.h": '#include "core/trace/counters.h"\n#include "core/durable/ledger/ledger.h"\n',
            "core/durable/storage/rdma.cc": '#include "core/fabric/fabric.h"\n',
            "core/durable/flush/rdma.cc": '#include "core/fabric/fabric.h"\n',
        }
        self.assertEqual(self.broken(rules.durable_state_knows_no_fabric, files),
                         ["core/durable/log/up.h:2", "core/durable/storage/rdma.cc:1"])

    def test_files_stay_short(self):
        limit = rules.MAX_LINES
        files = {"core/base/long.cc": "//\n" * (limit + 1), "core/base/full.cc": "//\n" * limit,
                 "run": "#\n" * (limit + 1), "tests/long.py": "#\n" * (limit + 1), "core/base/README.md": "-\n" * 900}
        self.assertEqual(sorted(self.broken(rules.files_stay_short, files)),
                         [f"core/base/long.cc:{limit + 1}", f"run:{limit + 1}", f"tests/long.py:{limit + 1}"])


class RealTree(unittest.TestCase):
    def test_every_rule_holds(self):
        tree = rules.Tree(ROOT)
        self.assertTrue(list(tree.cxx("core")), "found no sources: is this the right folder?")
        for rule in rules.RULES:
            with self.subTest(rule.__name__):
                broken = list(rule(tree))
                self.assertFalse(broken, "\n" + "\n".join(broken))
