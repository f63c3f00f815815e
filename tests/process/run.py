"""run.py --build DIR --transport tcp|preload|argument [--grpc VERSION/CORE] FILE [unittest arguments]: one test file over
one transport."""

import argparse
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import harness  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--transport", choices=[t.value for t in harness.Transport], required=True)
    parser.add_argument("--grpc", type=lambda text: harness.Grpc(*text.split("/")), default=harness.grpc(),
                        help="VERSION/CORE of the gRPC that the programs have: 1.51.1/29.0.0")
    parser.add_argument("file")
    options, rest = parser.parse_known_args()
    harness.configure(options.build.resolve(), harness.Transport(options.transport), options.grpc)
    unittest.main(module=options.file.removesuffix(".py"), argv=[options.file, "-v", *rest])


if __name__ == "__main__":
    main()
