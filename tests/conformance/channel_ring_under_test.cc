// FLOCK's ring on queue pairs of the simulation.
#include <memory>
#include <thread>

#include "absl/time/clock.h"
#include "core/channel/ring/ring_group.h"
#include "core/fabric/sim/simulation.h"
#include "tests/conformance/channel_conformance.h"
#include "tests/support/watched_device.h"

namespace skein::channel {
namespace {

class RingsOnTheSimulation final : public ChannelsUnderTest {
 public:
  explicit RingsOnTheSimulation(uint64_t seed) : simulation_(seed, {}) {}
  std::shared_ptr<Transport> MakeTransport(absl::string_view name) override {
    return std::make_shared<RingTransport>(std::make_shared<fabric::WatchedDevice>(simulation_.CreateDevice(name)));
  }
  void Settle() override { simulation_.RunUntilIdle(); }
  bool WouldWake(const ChannelGroup& group) override {
    return simulation_.WouldWake(static_cast<const fabric::WatchedDevice&>(*group.device()).completions);
  }
  bool Sleep(ChannelGroup& group) override {
    const absl::Time given_up = absl::Now() + kGuard;
    for (; !WouldWake(group); std::this_thread::yield()) {
      if (absl::Now() > given_up) return false;
      simulation_.RunUntilIdle();
    }
    return true;
  }

  bool TheEndWakes() const override { return false; }  // shared receives, of which none completes

 private:
  fabric::Simulation simulation_;
};

[[maybe_unused]] const bool kRingsRegistered =
    RegisterChannels({"ring_on_sim", [] { return std::make_unique<RingsOnTheSimulation>(20261128); }});

}  // namespace
}  // namespace skein::channel
