"""./run bench flock-sim: FLOCK's experiments, on a model.

Question: do FLOCK's mechanisms, with the policies of core/schedule as they are, give on one calibration of its machines
what its thesis says they give? Simulated time: a seed has one outcome. Prints the claims beside the figures; --docs writes
them into DIR/flock-sim.md, and the plots beside it. Exit status 1: a claim's direction does not hold."""

import flock_claims
import paper

MILLIONS = ("mrps", "million requests a second")
MEDIAN = ("p50_us", "median, us")
TAIL = ("p99_us", "p99, us")
THREADS = ("threads of each of 23 clients",)
PLOTS = (
    ("reads", "reads", "READs of 16 bytes (fig. 2.2 a)", "queue pairs", *MILLIONS),
    ("sharing, 1 outstanding", "sharing-1", "1 outstanding request (fig. 4.1)", *THREADS, *MILLIONS),
    ("sharing, 4 outstanding", "sharing-4", "4 outstanding requests (fig. 4.1)", *THREADS, *MILLIONS),
    ("sharing, 8 outstanding", "sharing-8", "8 outstanding requests (fig. 4.1, 4.4)", *THREADS, *MILLIONS),
    ("sharing, 1 outstanding", "sharing-1-p50", "1 outstanding request: median (fig. 4.2)", *THREADS, *MEDIAN),
    ("sharing, 8 outstanding", "sharing-8-p50", "8 outstanding requests: median (fig. 4.2)", *THREADS, *MEDIAN),
    ("sharing, 1 outstanding", "sharing-1-p99", "1 outstanding request: tail (fig. 4.3)", *THREADS, *TAIL),
    ("sharing, 8 outstanding", "sharing-8-p99", "8 outstanding requests: tail (fig. 4.3, 4.4)", *THREADS, *TAIL),
    ("UD, lines", "ud-lines", "UD: lines a core waits for, 32 threads", "hundredths of a line for a datagram", *MILLIONS),
    ("UD, loss", "ud-loss", "UD: loss", "lost datagrams of a million", *MILLIONS),
    ("coalescing", "coalescing", "Coalescing, 32 threads (fig. 4.5)", "outstanding requests of a thread", *MILLIONS),
    ("large payloads", "large", "Every tenth thread sends large requests (fig. 4.6)", "bytes of a large request", *MILLIONS),
    ("processes", "processes", "Client processes (fig. 4.7)", "processes on 23 hosts", *MILLIONS),
    ("link, 23 clients, 8 outstanding", "link", "Queue pairs of a link, polled by one core", "threads of each of 23 clients", *MILLIONS),
    ("index, 1 outstanding", "index-1", "An index, 1 outstanding (fig. 4.11)", "threads of each of 22 clients", *MILLIONS),
    ("index, 8 outstanding", "index-8", "An index, 8 outstanding (fig. 4.11)", "threads of each of 22 clients", *MILLIONS),
    ("TATP", "tatp", "TATP (fig. 4.9)", "threads of each of 20 clients and 3 servers", "mrps", "million transactions a second"),
    ("Smallbank", "smallbank", "Smallbank (fig. 4.10)", "threads of each of 20 clients and 3 servers", "mrps", "million transactions a second"),
    ("TATP", "tatp-p99", "TATP: tail (fig. 4.9)", "threads of each of 20 clients and 3 servers", *TAIL),
    ("Smallbank", "smallbank-p99", "Smallbank: tail (fig. 4.10)", "threads of each of 20 clients and 3 servers", *TAIL),
    ("clients", "clients", "Beyond the paper", "clients on 23 hosts", *MILLIONS),
)  # fmt: skip

MODEL = paper.model(__doc__, "flock", flock_claims.CLAIMS, PLOTS)

if __name__ == "__main__":
    MODEL.main()
