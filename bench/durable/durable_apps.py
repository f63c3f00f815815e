"""./run bench durable-apps: SC'21's applications, on the simulated fabric.

Question: what do YCSB and PageRank gain by durable requests that are over before they are executed, what does a crash cost,
and how does that change with sizes, loads and memory? Beside the exchanges that wait for their reply. Simulated time: a seed
has one outcome. Prints the paper's claims beside the figures, then the figures; --docs writes them into DIR/durable-apps.md,
and the plots beside it. Exit status 1: a claim's direction does not hold."""

import durable
import durable_apps_claims as paper
from durable_claims import DURABLE, EXCHANGES
from harness import claims, plots, table
from harness.model import Model
from harness.page import Page

BEGIN = "<!-- figures: written by bench/durable/durable_apps.py --docs, do not edit -->"
FIGURES = ("kops", "seconds", "sender_us", "receiver_us", "all", "operation")
RECOVERY_FIGURES = ("waits_ms", "sent_again", "from_log", "kept", "forgotten")
LOADS = ("light", "heavy")
DRAWN = ("wflush", "w-rflush", "FaRM", "DaRPC", "RFP")


def recorded(run):
    """What the page is made of, without what is as usual."""
    asked = {name: value for name, value in run.items() if name in paper.Results.defaults and value != paper.Results.defaults[name]}
    latencies = {name: {part: run[name][part] for part in ("mean_us", "p99_us")} for name in ("all", "operation")}
    figures = {name: run[name] for name in (*FIGURES, *RECOVERY_FIGURES) if name in run}
    return {"exchange": run["exchange"], **asked, **figures, **latencies}


def grid(results, corner, columns, cell_of):
    """A row for each exchange; columns {title: what was asked}; cells of those that were run."""
    shown = {title: asked for title, asked in columns.items() if any(results.has(one, **asked) for one in EXCHANGES)}
    if not shown:
        return []
    lines = [
        [one, *(cell_of(one, asked) if results.has(one, **asked) else "" for asked in shown.values())] for one in EXCHANGES
    ]  # fmt: skip
    return table.rows([corner, *shown], [line for line in lines if any(line[1:])])


def number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:,.1f}"


def ycsb_tables(results):
    def cell(one, asked):
        operation = results.run(one, **asked)["operation"]
        return f"**{number(operation['mean_us'])}**; {number(operation['p99_us'])}"

    for load in LOADS:
        columns = {workload: paper.ycsb(workload, load=load) for workload in paper.YCSB}
        columns["E, reads ahead"] = paper.ycsb("E", load=load, ahead=paper.SCAN_AHEAD)
        yield f"YCSB, {load} (fig. 11)", grid(results, "mean; p99, us", columns, cell)


def pagerank_tables(results):
    for load in LOADS:
        columns = {
            graph + (", reads ahead" if ahead > 1 else ""): paper.pagerank(graph, load=load, ahead=ahead)
            for graph in paper.GRAPHS for ahead in (1, paper.READ_AHEAD)
        }  # fmt: skip
        yield f"PageRank, {load} (fig. 10)", grid(results, "ms", columns, lambda one, asked: f"**{number(1e3 * results.seconds(one, asked))}**")


def recovery_tables(results):
    def crash(one, asked):
        run = results.run(one, **asked)
        return f"**{run['waits_ms']:.1f}**; {run['sent_again']:.2f}, {run['from_log']:.1f}"

    columns = {f"{reads} % reads, {load}": paper.recovery(read_percent=reads, load=load) for load in LOADS for reads in (5, 50, 95)}
    yield "A crash", grid(results, "ms; sent again, out of the log", columns, crash)
    lines = []
    for one in DURABLE:
        for title, asked in columns.items():
            if not results.has(one, **asked):
                continue
            other = paper.TRADITIONAL[one]
            cells = []
            for availability in paper.AVAILABILITIES:
                whole = results.total_time(one, availability, asked) / results.total_time(other, availability, asked)
                cells.append(f"**{results.crashes_alone(one, availability, asked):.4f}**; {whole:.2f}")
            lines.append([f"{one} to {other}, {title}", *cells])
    yield "Total time by availability (fig. 12)", table.rows(["crashes alone; all", *(f"{100 * one:g} %" for one in paper.AVAILABILITIES)], lines)


def sensitivity_tables(results):
    def mean(one, asked):
        return f"**{number(results.mean(one, asked))}**"

    sizes = {durable.size(count): {"experiment": "object sizes", "object_bytes": count} for count in (64, 256, 1024, 4096, 16384, 65536)}
    yield "Sizes of objects, light (fig. 13)", grid(results, "mean, us", sizes, mean)
    names = {"nothing": "", "a busy network (14)": "network", "a busy receiver (15)": "receiver", "a busy sender (16)": "sender"}
    yield "Beside other programs, 64 KiB, light (fig. 14 to 16)", grid(
        results, "mean, us", {title: paper.beside(what) for title, what in names.items()}, mean)  # fmt: skip
    media = {f"x{times}": {"experiment": "media", "object_bytes": 4096, "application": "A", "media": times} for times in (1, 2, 4, 8)}
    yield "Slower persistent memory, YCSB A, light (ours)", grid(results, "mean, us", media, mean)


def breakdown_table(results):
    def parts(one, asked):
        return ", ".join(f"{value:.1f}" for value in results.parts(one, asked).values())

    columns = {f"YCSB A, {load}": paper.ycsb("A", load=load) for load in LOADS}
    yield "Where a request's time goes (fig. 20)", grid(results, "us: sender, network, receiver", columns, parts)


def markdown(found):
    results = paper.Results(found)
    lines = [claims.markdown(results, paper.CLAIMS, found["seed"])]
    for part in (ycsb_tables, pagerank_tables, recovery_tables, sensitivity_tables, breakdown_table):
        for title, cells in part(results):
            if len(cells) > 2:
                lines += ["", f"### {title}", "", *cells]
    return "\n".join(lines)


def charts(found):
    results = paper.Results(found)

    def series(columns, figure):
        return {one: [(x, figure(one, asked)) for x, asked in columns.items() if results.has(one, **asked)] for one in DRAWN}

    sizes = {count: {"experiment": "object sizes", "object_bytes": count} for count in (64, 256, 1024, 4096, 16384, 65536)}
    media = {times: {"experiment": "media", "object_bytes": 4096, "application": "A", "media": times} for times in (1, 2, 4, 8)}
    crashes = {f"{reads} %, {load}": paper.recovery(load=load, read_percent=reads) for load in LOADS for reads in (5, 50, 95)}
    bars = {"crash": plots.bars("A crash: until all that was asked for is over", "ms", list(crashes), series(crashes, results.waits_ms))}
    for load in LOADS:
        columns = {workload: paper.ycsb(workload, load=load) for workload in paper.YCSB}
        columns["E, reads ahead"] = paper.ycsb("E", load=load, ahead=paper.SCAN_AHEAD)
        bars[f"ycsb-{load}"] = plots.bars(
            f"YCSB, {load} handlers: mean of operations", "us", list(columns), series(columns, results.mean))  # fmt: skip
    return {
        **bars,
        "sizes": plots.chart("Objects of all sizes, light handlers", "bytes", "mean, us", series(sizes, results.mean), log=True),
        "media": plots.chart("YCSB A with slower persistent memory", "times slower", "mean, us", series(media, results.mean)),
    }  # fmt: skip


PAGE = Page("durable-apps.md", BEGIN, markdown, charts)
MODEL = Model(__doc__, "durable-apps", ("bench/durable/bench_durable", "--applications"), paper.CLAIMS, paper.Results, PAGE, recorded)

if __name__ == "__main__":
    MODEL.main()
