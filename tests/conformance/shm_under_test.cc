// Shared memory, between two devices of one process: all but the process boundary is real.
#include <poll.h>

#include <memory>

#include "absl/time/time.h"
#include "core/fabric/shm/shm_device.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/fabric_under_test.h"

namespace skein::fabric {
namespace {

bool Readable(int fd, int timeout_ms) {
  pollfd entry{fd, POLLIN, 0};
  return poll(&entry, 1, timeout_ms) == 1 && (entry.revents & POLLIN) != 0;
}

class ShmUnderTest final : public FabricUnderTest {
 public:
  absl::StatusOr<std::shared_ptr<Device>> MakeDevice(absl::string_view) override { return OpenShmDevice(); }
  void Settle() override {}  // polling moves everything
  bool ArmedAndReadable(const CompletionQueue& queue) override { return Readable(queue.fd(), /*timeout_ms=*/0); }
  bool SleepUntilReadable(const CompletionQueue& queue) override {
    return Readable(queue.fd(), static_cast<int>(absl::ToInt64Milliseconds(kGuard)));
  }
  bool registered_memory_is_writable() const override { return false; }
};

[[maybe_unused]] const bool kRegistered = RegisterFabric({"shm", [] { return std::make_unique<ShmUnderTest>(); }});

}  // namespace
}  // namespace skein::fabric
