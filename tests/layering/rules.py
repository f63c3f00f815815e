"""The rules of the source tree. Each takes a Tree and yields what breaks it, as 'file:line: why'."""

import pathlib
import re

# Top to bottom. A layer includes itself and what stands below it.
LAYERS = [
    "grpc_transport", "thrift_transport",
    "core/rpc", "core/durable", "core/replicate", "core/stream", "core/service", "core/connect", "core/link", "core/channel", "core/schedule", "core/coalesce",
    "core/wait", "core/fabric", "core/wire", "core/inspect", "core/trace", "core/base",
]  # fmt: skip
ADAPTERS = ("grpc_transport", "thrift_transport")
# Headers that are installed, below include/, belong to the layer that keeps what they promise; those that name none are below
# all layers.
PUBLIC_OF = {"skein/grpc": "grpc_transport", "skein/thrift/": "thrift_transport", "skein/rpc": "core/rpc"}
# They include what any machine with the framework has.
PUBLIC_INCLUDE = re.compile(r"[a-z_]+$|sys/types\.h$|absl/|skein/")
PUBLIC_FRAMEWORK = {"grpc_transport": "grpcpp/", "thrift_transport": "thrift/"}
# And of Skein they name what programs use, not the layers inside.
INNER = "|".join(layer.removeprefix("core/") for layer in LAYERS if layer.startswith("core/") and layer != "core/rpc")
INNER_NAME = re.compile(rf"(?:\bskein::|\bnamespace )({INNER})\b|(?<![\w:])({INNER})::")

# The one file that sees gRPC's internal headers; everything else of the adapter includes it.
GRPC_INTERNAL = "grpc_transport/iomgr/grpc_internal.h"
GRPC_INTERNAL_INCLUDE = re.compile(r"src/(core|cpp)/|upb/")
FRAMEWORK_INCLUDE = re.compile(r"grpc\+?\+?/|grpcpp/|grpc_|src/(core|cpp|proto)/|thrift/|upb/|google/protobuf/|skein/(grpc|thrift)")

# The adapters for gRPC know nothing of each other; what they share knows neither.
GRPC_PARTS = {
    "grpc_transport/common/": ("grpc_transport/common/",),
    "grpc_transport/iomgr/": ("grpc_transport/common/", "grpc_transport/iomgr/"),
    "grpc_transport/event_engine/": ("grpc_transport/common/", "grpc_transport/event_engine/"),
    "grpc_transport/durable/": ("grpc_transport/durable/",),
    "grpc_transport/preload/": ("grpc_transport/preload/", "grpc_transport/common/"),
}  # fmt: skip

SOURCE_FOLDERS = ("include", "core", "grpc_transport", "thrift_transport", "tests", "interop", "examples", "bench", "tools", "scripts", "packaging", "cmake")
SOURCE_SUFFIXES = {".h", ".cc", ".py", ".sh", ".rb", ".cmake"}
SOURCE_NAMES = {"CMakeLists.txt", "run"}
MAX_LINES = 500

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')

# core/schedule decides by what it is told, so that a simulator can use it unchanged: it sees no clock, thread, lock or
# chance, and of core nothing that does.
POLICIES = "core/schedule/"
IMPURE_INCLUDE = re.compile(
    r"(atomic|chrono|condition_variable|ctime|future|mutex|random|thread|pthread\.h|(sys/)?time\.h)$"
    r"|absl/(random|synchronization|time)/|core/(?!base/|schedule/)"
)

# The state behind durable calls is on storage only, whatever brings the calls. Top to bottom, as LAYERS.
DURABLE_STATE = ["core/durable/ledger", "core/durable/log", "core/durable/sim", "core/durable/storage"]
BELOW_DURABLE_STATE = ("core/trace", "core/base")


class Tree:
    """A source tree on disk."""

    def __init__(self, root):
        self.root = pathlib.Path(root)

    def sources(self, *folders):
        """Own sources, as paths relative to the root."""
        for folder in folders:
            for path in sorted((self.root / folder).rglob("*")):
                if path.is_file() and (path.suffix in SOURCE_SUFFIXES or path.name in SOURCE_NAMES):
                    yield path.relative_to(self.root).as_posix()

    def cxx(self, *folders):
        return (file for file in self.sources(*folders) if file.endswith((".h", ".cc")))

    def lines(self, file):
        return (self.root / file).read_text(encoding="utf-8").splitlines()

    def includes(self, file):
        """(line number, included file) of each #include."""
        for number, line in enumerate(self.lines(file), 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match.group(1)


def layer_of(file):
    """The layer a file belongs to by its path, or None."""
    for layer in LAYERS:
        if file.startswith(layer + "/"):
            return layer
    return next((layer for name, layer in PUBLIC_OF.items() if file.removeprefix("include/").startswith(name)), None)


def every_folder_is_a_layer(tree):
    for file in tree.cxx("core"):
        if layer_of(file) is None:
            yield f"{file}:1: not in a layer that tests/layering/rules.py knows"


def includes_point_downwards(tree):
    for file in tree.cxx("core", *ADAPTERS):
        own = layer_of(file)
        for number, included in tree.includes(file):
            other = layer_of(included)
            if own is None or other is None or own == other:
                continue
            if LAYERS.index(other) < LAYERS.index(own) or (own in ADAPTERS and other in ADAPTERS):
                yield f"{file}:{number}: {own} must not include {included}"


def public_headers_stand_alone(tree):
    for file in tree.cxx("include"):
        framework = PUBLIC_FRAMEWORK.get(layer_of(file))
        for number, included in tree.includes(file):
            installed = PUBLIC_INCLUDE.match(included) or (framework and included.startswith(framework))
            other = included.startswith("skein/") and layer_of(included) not in (None, layer_of(file))
            missing = included.startswith("skein/") and not (tree.root / "include" / included).is_file()
            if not installed or other or missing:
                yield f"{file}:{number}: a public header includes only public ones, not {included}"


def public_headers_name_no_inner_layer(tree):
    for file in tree.cxx("include"):
        for number, line in enumerate(tree.lines(file), 1):
            found = INNER_NAME.search(line.partition("//")[0])
            if found:
                yield f"{file}:{number}: a public header shows nothing of {found[1] or found[2]}, which is inside"


def core_knows_no_framework(tree):
    for file in tree.cxx("core"):
        for number, included in tree.includes(file):
            if FRAMEWORK_INCLUDE.match(included):
                yield f"{file}:{number}: core knows neither gRPC nor Thrift, but includes {included}"


def one_file_sees_grpc_internals(tree):
    for file in tree.cxx(*SOURCE_FOLDERS):
        for number, included in tree.includes(file):
            if GRPC_INTERNAL_INCLUDE.match(included) and file != GRPC_INTERNAL:
                yield f"{file}:{number}: gRPC's internal headers come through {GRPC_INTERNAL}, not by {included}"


def adapters_for_grpc_stand_apart(tree):
    for part, may in GRPC_PARTS.items():
        for file in tree.cxx(part):
            for number, included in tree.includes(file):
                if included.startswith("grpc_transport/") and not included.startswith(may):
                    yield f"{file}:{number}: {part} must not include {included}"


def own_includes_start_at_the_root(tree):
    """Otherwise the rules above could be passed by writing ../stream/stream.h."""
    for file in tree.cxx(*SOURCE_FOLDERS):
        for number, included in tree.includes(file):
            beside = (tree.root / file).parent / included
            if included.startswith(".") or (beside.is_file() and not (tree.root / included).is_file()):
                yield f"{file}:{number}: include own files by their path from the root, not {included}"


def policies_are_pure(tree):
    for file in tree.cxx(POLICIES):
        for number, included in tree.includes(file):
            if IMPURE_INCLUDE.match(included):
                yield f"{file}:{number}: a policy is data in, decisions out; it does not include {included}"


def durable_state_knows_no_fabric(tree):
    for number_of_part, part in enumerate(DURABLE_STATE):
        may = tuple(f"{folder}/" for folder in (*DURABLE_STATE[number_of_part:], *BELOW_DURABLE_STATE))
        for file in tree.cxx(part):
            for number, included in tree.includes(file):
                if included.startswith("core/") and not included.startswith(may):
                    yield f"{file}:{number}: {part} must not include {included}"


def files_stay_short(tree):
    for file in (*tree.sources(*SOURCE_FOLDERS), "run"):
        if (tree.root / file).is_file() and len(tree.lines(file)) > MAX_LINES:
            yield f"{file}:{MAX_LINES + 1}: {len(tree.lines(file))} lines; files have at most {MAX_LINES}"


RULES = [
    every_folder_is_a_layer, includes_point_downwards, public_headers_stand_alone, public_headers_name_no_inner_layer,
    core_knows_no_framework,
    one_file_sees_grpc_internals, adapters_for_grpc_stand_apart, own_includes_start_at_the_root, policies_are_pure, durable_state_knows_no_fabric, files_stay_short,
]  # fmt: skip
