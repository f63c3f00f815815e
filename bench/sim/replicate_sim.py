"""./run bench replicate-sim: one write to many, on a model of NICs.

Question: what does it cost to have 3, 7, 15 or 512 copies of a large write beside having one, by each schedule of
core/replicate? Simulated time, and no chance. Prints the claims of RDMC beside the figures; --docs writes them into
DIR/replicate-sim.md, and the plots beside it. Exit status 1: a claim's direction does not hold."""

import paper
import replicate_claims

TIME = ("ms", "ms until all have it")
PLOTS = (
    ("replicate", "receivers", "100 MB in blocks of 256 KiB", "receivers", *TIME),
    ("numbers", "numbers", "100 MB by the pipeline: any number of members", "receivers", *TIME),
    ("sizes, 7 receivers", "sizes", "Small writes and large ones, to 7 receivers", "kB", *TIME),
    ("blocks", "blocks", "100 MB by the pipeline: the size of blocks", "KiB", *TIME),
    ("under way", "under-way", "100 MB by the pipeline: blocks under way from a member", "blocks", *TIME),
    ("copies", "copies", "100 MB by the pipeline: threads that copy blocks", "receivers", *TIME),
    ("slow", "slow", "100 MB by the pipeline: a member with half the rate", "receivers", *TIME),
)  # fmt: skip

MODEL = paper.model(__doc__, "replicate", replicate_claims.CLAIMS, PLOTS)

if __name__ == "__main__":
    MODEL.main()
