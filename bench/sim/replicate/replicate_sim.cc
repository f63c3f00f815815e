// RDMC's experiments.
#include "bench/sim/points.h"
#include "bench/sim/replicate/replicate_experiments.h"

int main(int argc, char** argv) { return skein::bench::Main(argc, argv, skein::bench::ReplicateExperiments); }
