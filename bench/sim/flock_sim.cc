// FLOCK's experiments.
#include "bench/sim/experiments.h"
#include "bench/sim/points.h"

int main(int argc, char** argv) { return skein::bench::Main(argc, argv, skein::bench::FlockExperiments); }
