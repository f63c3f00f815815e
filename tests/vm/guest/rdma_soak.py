"""rdma_soak.py BUILD [OPTION of tests/soak/soak.py...]: the same over RDMA, in one guest."""

import pathlib
import sys

import guests

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/soak"))

import soak  # noqa: E402


def main():
    build, *arguments = sys.argv[1:]
    slow = ["--flag=--deadline=10s", *guests.SLOW]
    usual = ["--build", build, "--path=rdma", "--host", guests.ADDRESS, "--out", str(guests.RESULTS), *slow]
    options = soak.parse_arguments([*usual, *arguments])
    options.settings = guests.SETTINGS
    before = guests.rdma_objects()
    return guests.verdict([soak.run(options)], before)


if __name__ == "__main__":
    sys.exit(main())
