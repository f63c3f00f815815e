"""hash_table_test.py PROGRAM: a server process, and clients that put and get."""

import subprocess
import sys


def main():
    program = sys.argv[1]
    with subprocess.Popen([program, "serve", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True) as server:
        try:
            address = server.stdout.readline().split()[-1]

            def ask(*words):
                return subprocess.run([program, address, *words], capture_output=True, text=True, timeout=30, check=False)

            assert ask("get", "goose").returncode == 1, "nobody has put it yet"
            for number in range(20):
                assert ask("put", f"goose {number}", f"in flight {number}").returncode == 0
            assert ask("put", "goose 7", "landed").returncode == 0, "the newest value counts"
            for number in range(20):
                expected = "landed" if number == 7 else f"in flight {number}"
                got = ask("get", f"goose {number}")
                assert (got.returncode, got.stdout) == (0, expected + "\n"), got
            assert ask("put", "k" * 24, "").returncode == 1, "too long a key"
        finally:
            server.kill()
    gone = subprocess.run([program, address, "get", "goose 1"], capture_output=True, text=True, timeout=30, check=False)
    assert gone.returncode == 1 and "connect" in gone.stderr, gone


if __name__ == "__main__":
    main()
