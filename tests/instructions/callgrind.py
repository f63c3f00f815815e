"""What callgrind has counted: a program under it, and its dumps."""

import collections
import pathlib
import re
import statistics
import subprocess

# Per operation: the instructions of all, and of each function itself, and of each library's functions.
Profile = collections.namedtuple("Profile", "instructions functions libraries", defaults=({},))

# What memcpy and its kind are chosen by: so that any processor runs those of the oldest. (Callgrind counts `rep movsb`
# once a byte.) Nothing else is in the environment, which lies on the stack and moves it.
ENVIRONMENT = {
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX2,-AVX_Fast_Unaligned_Load,-ERMS,-FSRM,-SSE4_2,-SSE4_1"
    ",-SSSE3,Fast_Unaligned_Copy:glibc.cpu.x86_non_temporal_threshold=0x300000",
    "LC_ALL": "C",
}
ROUND = "desc: Trigger: Client Request: round"
TIMEOUT_S = 120


# Brackets of a name that is no operator's.
BRACKETS = re.compile(r"(operator(?:\(\)|<=>|<<=?|>>=?|->\*?|[<>]=?)|[<>()])")

# What callgrind appends at deeper levels of a recursion, and the compiler to parts of a function.
LEVEL_OR_CLONE = re.compile(r"('\d+| \[clone [^]]*\])+$")


def short_name(function):
    """'int a::B<int>::f(int) const' as 'a::B::f': overloads and instances count as one."""
    name, depth = "", 0
    for part in BRACKETS.split(function.replace("(anonymous namespace)::", "")):
        if part in ("<", "("):
            depth += 1
        elif part in (">", ")"):
            depth -= 1
        elif depth == 0:
            name += part
    name = LEVEL_OR_CLONE.sub("", name).removesuffix(" const").replace("operator ", "operator_").split()[-1:]
    return name[0].replace("operator_", "operator ") if name else function


def parse(dump):
    """The profile of one dump, which is not compressed."""
    functions, libraries = collections.Counter(), collections.Counter()
    function, library, of_callee = None, None, False
    for line in dump.splitlines():
        if line.startswith("ob="):
            library = pathlib.PurePath(line[3:]).name.split(".so")[0]
        elif line.startswith("fn="):
            function = short_name(line[3:])
        elif line.startswith("calls="):
            of_callee = True  # the next line's cost is inclusive, and counted where it arises
        elif function is not None and line[:1] in "0123456789+-*" and line:
            if not of_callee:
                functions[function] += int(line.split()[-1])
                libraries[library] += int(line.split()[-1])
            of_callee = False
    return Profile(sum(functions.values()), functions, libraries)


def middle(profiles, operations):
    """Of several rounds, the one with the median count; per operation."""
    median = statistics.median_low(profile.instructions for profile in profiles)
    round_ = next(profile for profile in profiles if profile.instructions == median)
    each = ({name: n / operations for name, n in counts.items()} for counts in (round_.functions, round_.libraries))
    return Profile(median / operations, *each)


def count(program, path, folder):
    """Runs a path; its dumps stay in `folder`, which has none of it yet, for callgrind_annotate."""
    out = pathlib.Path(folder) / path
    command = ["valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes",
               "--compress-strings=no", f"--callgrind-out-file={out}", program, path]  # fmt: skip
    try:
        run = subprocess.run(command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             timeout=TIMEOUT_S, check=False)  # fmt: skip
    except subprocess.TimeoutExpired as timeout:
        raise RuntimeError(f"{path}: not counted within {TIMEOUT_S} s") from timeout
    if run.returncode != 0:
        raise RuntimeError(f"{path}: status {run.returncode}\n{run.stdout}{run.stderr}")
    # The first thread is the one that runs the operations; the last dump is of the program's end.
    dumps = [dump.read_text() for dump in sorted(out.parent.glob(f"{path}.*-01"))]
    rounds = [parse(dump) for dump in dumps if ROUND in dump]
    if not rounds:
        raise RuntimeError(f"{path}: no dump of a round in {folder}\n{run.stderr}")
    return middle(rounds, int(run.stdout))
