// One run of one scenario, all of it from its seed.
#ifndef SKEIN_TESTS_CHAOS_RUN_H_
#define SKEIN_TESTS_CHAOS_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/sim/journal.h"
#include "tests/sim/scenario.h"

namespace skein::chaos {

struct ScenarioKind {
  absl::string_view name;
  WorldShape shape;
  std::function<std::unique_ptr<Scenario>(World& world)> make;
};
const std::vector<ScenarioKind>& Scenarios();

struct Outcome {
  Plan plan;
  Journal journal;
};
Outcome Run(const ScenarioKind& kind, uint64_t seed);

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_RUN_H_
