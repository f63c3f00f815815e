"""large_payloads.py --build DIR [--quick] [--out FILE] [--seed N]: large payloads pulled, and through the ring.

From which size on is it worth letting the peer pull a payload? What does a message take either way, and what does a small
one that comes right behind it? Simulated time: every run gives the same."""

import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "macro"))
import arguments  # noqa: E402
import machine  # noqa: E402


def run(options):
    """Figures by size, figure and way."""
    command = [options.build / "bench/micro/large_payloads"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))}: {done.stderr}")
    figures = {}
    for line in map(json.loads, done.stdout.splitlines()):
        for figure in ("us", "small_us"):
            figures.setdefault(line["bytes"], {}).setdefault(figure, {})[line["way"]] = line[figure]
    return figures


def main():
    options = arguments.parse(__doc__, "bench_large_payloads.json")
    figures = run(options)
    results = {**machine.heading(options, "quick"), "sim": figures}
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    print("| bytes | pulled, to the ring | p99 of small ones beside it |")
    print("| --- | --- | --- |")
    for size, kinds in figures.items():
        ratios = [kinds[figure]["pull"] / kinds[figure]["ring"] for figure in ("us", "small_us")]
        print(f"| {size >> 10} KiB | **x{ratios[0]:.2f}** | **x{ratios[1]:.2f}** |")
    print(f"written: {options.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
