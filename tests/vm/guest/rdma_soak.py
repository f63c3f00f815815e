"""rdma_soak.py BUILD [OPTION of tests/system/soak/soak.py...] [--service]: the same over RDMA, in one guest; with --service
through its skeind."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/system/soak"), str(ROOT / "tests")]

import skeind  # noqa: E402
import soak  # noqa: E402
from skeintest import guests  # noqa: E402


def main():
    build, *arguments = sys.argv[1:]
    before = guests.rdma_objects()
    service = skeind.give_rdma(pathlib.Path(build)) if "--service" in arguments else None
    arguments = [argument for argument in arguments if argument != "--service"]
    slow = ["--flag=--deadline=10s", *guests.SLOW]
    usual = ["--build", build, "--path=rdma", "--host", guests.ADDRESS, "--out", str(guests.RESULTS), *slow]
    options = soak.parse_arguments([*usual, *arguments])
    options.settings = guests.SETTINGS
    results = [soak.run(options)]
    if service is not None:
        results.append(service.ends_well())
    return guests.verdict(results, before)


if __name__ == "__main__":
    sys.exit(main())
