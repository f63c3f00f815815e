"""./run bench service-sim: RDMA as a service, on a model.

Question: does a skeind give what RaaS's figures 6 to 9 show, with one thread or with RaaS's threads, and what would 10,000
processes of 100 hosts have of it? Simulated time: a seed has one outcome. Prints the claims beside the figures; --docs
writes them into DIR/service-sim.md, and the plots beside it. Exit status 1: a claim's direction does not hold."""

import paper
import service_claims

MILLIONS = ("mrps", "million READs a second")
CALLS = ("mrps", "million calls a second of a host")
OFFERED = "thousand calls a second offered to a host"
PLOTS = (
    ("connections", "connections", "READs of 64 KiB (RaaS, fig. 6)", "connections", "gbps", "Gb/s"),
    ("bursts", "bursts", "1,000 queue pairs: packets of one's turn", "packets", "gbps", "Gb/s"),
    ("lock", "lock", "18 threads share queue pairs by locks (fig. 2)", "threads of a queue pair", *MILLIONS),
    ("sharing, 8 outstanding", "sharing", "READs of 64 bytes, 8 outstanding (fig. 7)", "threads", *MILLIONS),
    ("applications", "processors", "64 KiB, 300 times a second each (fig. 9)", "applications", "processors", "processors"),
    ("memory", "memory", "Queues of 3 connections each (fig. 8)", "applications", "megabytes", "MB"),
    ("mesh", "mesh", "10,000 processes of 100 hosts", OFFERED, *CALLS),
    ("mesh", "mesh-p99", "10,000 processes of 100 hosts: latency", OFFERED, "p99_us", "p99, us"),
    ("mesh, hosts", "hosts", "200,000 calls a second of a host: latency", "hosts of 100 processes", "p99_us", "p99, us"),
    ("mesh, misses", "misses", "10,000 processes, no pauses", "ns that a miss takes", *CALLS),
    ("threads", "threads", "Threads of a skeind, 10,000 processes", "threads, or workers", *CALLS),
    ("instructions", "instructions", "How fast skeind's processor is", "instructions a nanosecond", *CALLS),
)  # fmt: skip

MODEL = paper.model(__doc__, "service", service_claims.CLAIMS, PLOTS)

if __name__ == "__main__":
    MODEL.main()
