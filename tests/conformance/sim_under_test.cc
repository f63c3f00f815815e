// The simulation in four tempers: two seeds of the mean NIC that it is by default, one that lands WRITEs whole and
// keeps one order, and one that offers FLUSH.
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/fabric/sim/simulation.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/fabric_under_test.h"

namespace skein::fabric {
namespace {

class SimUnderTest final : public FabricUnderTest {
 public:
  SimUnderTest(uint64_t seed, const SimConfig& config) : simulation_(seed, config) {}

  absl::StatusOr<std::shared_ptr<Device>> MakeDevice(absl::string_view name) override {
    return simulation_.CreateDevice(name);
  }
  void Settle() override { simulation_.RunUntilIdle(); }
  bool ArmedAndReadable(const CompletionQueue& queue) override { return simulation_.WouldWake(&queue); }
  bool SleepUntilReadable(const CompletionQueue& queue) override {
    const absl::Time given_up = absl::Now() + kGuard;
    while (!simulation_.WouldWake(&queue)) {
      if (absl::Now() > given_up) return false;
      simulation_.RunUntilIdle();
      std::this_thread::yield();
    }
    return true;
  }
  absl::Span<std::byte> PersistentMemory() override { return absl::MakeSpan(persistent_); }

 private:
  std::vector<std::byte> persistent_ = std::vector<std::byte>(1 << 16);  // declared to be
  Simulation simulation_;
};

FabricFactory Mean(uint64_t seed) {
  return {absl::StrCat("sim_seed_", seed), [seed] { return std::make_unique<SimUnderTest>(seed, SimConfig{}); }};
}

FabricFactory Tame() {
  SimConfig config;
  config.jitter = absl::ZeroDuration();
  config.write_spread = absl::ZeroDuration();
  config.reorder_across_queue_pairs = false;
  config.completion_cost = absl::Nanoseconds(20);
  return {"sim_tame", [config] { return std::make_unique<SimUnderTest>(/*seed=*/1, config); }};
}

FabricFactory Flushing() {
  return {"sim_flushing", [] { return std::make_unique<SimUnderTest>(/*seed=*/3, SimConfig{.flush = true}); }};
}

[[maybe_unused]] const bool kSimRegistered =
    RegisterFabric(Mean(20261)) && RegisterFabric(Mean(7)) && RegisterFabric(Tame()) && RegisterFabric(Flushing());

}  // namespace
}  // namespace skein::fabric
