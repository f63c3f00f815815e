// Channels in shared memory, between two ends in one process: all but the process boundary is real.
#include <poll.h>

#include <memory>

#include "core/channel/shm/shm_transport.h"
#include "tests/conformance/channel_conformance.h"

namespace skein::channel {
namespace {

class SharedMemoryUnderTest final : public ChannelsUnderTest {
 public:
  std::shared_ptr<Transport> MakeTransport(absl::string_view) override { return OpenShm(); }
  void Settle() override {}  // what is published is there
  bool WouldWake(const ChannelGroup& group) override {
    pollfd wait = {group.fd(), POLLIN, 0};
    return poll(&wait, 1, 0) == 1;
  }
  bool Sleep(ChannelGroup& group) override {
    return group.Sleep(-1, static_cast<int>(absl::ToInt64Milliseconds(kGuard))).by_queue;
  }
};

[[maybe_unused]] const bool kShmRegistered =
    RegisterChannels({"shm", [] { return std::make_unique<SharedMemoryUnderTest>(); }});

}  // namespace
}  // namespace skein::channel
