// Rings of two processes that have no device: their hosts' skeinds, each with a device of the simulation.
#include <poll.h>

#include <memory>

#include "core/channel/ring/ring_group.h"
#include "core/fabric/service/service_device.h"
#include "core/fabric/sim/simulation.h"
#include "tests/conformance/channel_conformance.h"
#include "tests/support/skeind_host.h"

namespace skein::channel {
namespace {

class RingsThroughSkeinds final : public ChannelsUnderTest {
 public:
  RingsThroughSkeinds() : hosts_{{simulation_, "a"}, {simulation_, "b"}} {}
  std::shared_ptr<Transport> MakeTransport(absl::string_view) override {
    const service::SkeindHost& host = hosts_[made_++ % 2];
    return std::make_shared<RingTransport>(fabric::OpenServiceDevice(host.folder(), "127.0.0.1").value());
  }
  void Settle() override { service::Settle(hosts_[0], hosts_[1]); }
  bool WouldWake(const ChannelGroup& group) override {
    pollfd wait = {group.fd(), POLLIN, 0};
    return poll(&wait, 1, 0) == 1;
  }
  bool Sleep(ChannelGroup& group) override {
    return group.Sleep(-1, static_cast<int>(absl::ToInt64Milliseconds(kGuard))).by_queue;
  }

 private:
  fabric::Simulation simulation_{20261129, {}};
  service::SkeindHost hosts_[2];
  int made_ = 0;
};

[[maybe_unused]] const bool kServiceRegistered =
    RegisterChannels({"ring_through_skeinds", [] { return std::make_unique<RingsThroughSkeinds>(); }});

}  // namespace
}  // namespace skein::channel
