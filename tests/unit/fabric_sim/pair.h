// Two devices of one simulation with a queue pair each, connected; every test here starts from it.
#ifndef SKEIN_TESTS_UNIT_FABRIC_SIM_PAIR_H_
#define SKEIN_TESTS_UNIT_FABRIC_SIM_PAIR_H_

#include "core/fabric/sim/simulation.h"
#include "tests/support/fabric_end.h"

namespace skein::fabric {

struct Pair {
  explicit Pair(Simulation& simulation)
      : a(simulation.CreateDevice("a")),
        b(simulation.CreateDevice("b")),
        status(Connect(*a.queue_pair, *b.queue_pair)) {}
  End a;
  End b;
  absl::Status status;
};

}  // namespace skein::fabric

#endif  // SKEIN_TESTS_UNIT_FABRIC_SIM_PAIR_H_
