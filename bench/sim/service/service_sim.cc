// RaaS's experiments.
#include "bench/sim/points.h"
#include "bench/sim/service/service_experiments.h"

int main(int argc, char** argv) { return skein::bench::Main(argc, argv, skein::bench::ServiceExperiments); }
