"""large_payloads.py --build DIR [--quick] [--out FILE] [--seed N]: large payloads pulled, and through the ring.

From which size on is it worth letting the peer pull a payload? What does a message take either way, and what does a small
one that comes right behind it? The sizes of a round run one after the other, pulled and not, and every ratio is taken
within its round."""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "macro"))
import arguments  # noqa: E402
import machine  # noqa: E402
import statistics_of  # noqa: E402


def run(options):
    """Figures by fabric, size, figure and way: one of each round."""
    command = [options.build / "bench/micro/large_payloads", f"--rounds={options.rounds}"]
    # With glibc's defaults each large buffer goes back to the kernel, and page faults are measured.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 30)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=environment)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))}: {done.stderr}")
    figures = {}
    for line in map(json.loads, done.stdout.splitlines()):
        for figure in ("us", "small_us"):
            ways = figures.setdefault(line["fabric"], {}).setdefault(line["bytes"], {}).setdefault(figure, {})
            ways.setdefault(line["way"], []).append(line[figure])
    return figures


def main():
    options = arguments.parse(__doc__, "bench_large_payloads.json")
    options.rounds = 2 if options.quick else 15
    figures = run(options)
    results = {
        **machine.heading(options, "rounds", "quick"),
        "load": os.getloadavg()[1],
        "fabrics": {
            fabric: {
                size: {
                    figure: {
                        "ring": statistics_of.summary(ways["ring"]),
                        "pull": statistics_of.with_ratio(ways["pull"], ways["ring"]),
                    }
                    for figure, ways in kinds.items()
                }
                for size, kinds in sizes.items()
            }
            for fabric, sizes in figures.items()
        },
    }
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    print("| bytes | fabric | pulled, to the ring | a small one behind it |")
    print("| --- | --- | --- | --- |")
    for fabric, sizes in results["fabrics"].items():
        for size, kinds in sizes.items():
            ratios = [kinds[figure]["pull"]["ratio"] for figure in ("us", "small_us")]
            cells = [f"**x{r['median']:.2f}** ({r['min']:.2f}..{r['max']:.2f})" for r in ratios]
            print(f"| {size >> 10} KiB | {fabric} | {cells[0]} | {cells[1]} |")
    print(f"written: {options.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
