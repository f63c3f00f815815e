#include "tests/conformance/fabric_under_test.h"

#include <utility>

namespace skein::fabric {
namespace {

std::vector<FabricFactory>& Registry() {
  static std::vector<FabricFactory> registry;
  return registry;
}

}  // namespace

bool RegisterFabric(FabricFactory factory) {
  Registry().push_back(std::move(factory));
  return true;
}

const std::vector<FabricFactory>& RegisteredFabrics() { return Registry(); }

}  // namespace skein::fabric
