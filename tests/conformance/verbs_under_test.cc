// RDMA devices, where there are any (./run test vm has one): both ends on the default port, by loopback.
#include <poll.h>

#include <memory>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/fabric/verbs/verbs_device.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/fabric_under_test.h"

namespace skein::fabric {
namespace {

bool Readable(int fd, int timeout_ms) {
  pollfd entry{fd, POLLIN, 0};
  return poll(&entry, 1, timeout_ms) == 1 && (entry.revents & POLLIN) != 0;
}

absl::StatusOr<std::shared_ptr<Device>> OpenDefault() {
  const absl::StatusOr<std::vector<verbs::GidEntry>> entries = verbs::ListGids();
  if (!entries.ok()) return entries.status();
  const absl::StatusOr<verbs::GidEntry> through = verbs::DefaultGid(*entries);
  if (!through.ok()) return through.status();
  return OpenVerbsDevice(*through);
}

class VerbsUnderTest final : public FabricUnderTest {
 public:
  absl::StatusOr<std::shared_ptr<Device>> MakeDevice(absl::string_view) override { return OpenDefault(); }
  // Packets arrive when they do, and nothing tells of it but completions, which are not this function's to take.
  void Settle() override { absl::SleepFor(absl::Milliseconds(2)); }
  bool ArmedAndReadable(const CompletionQueue& queue) override { return Readable(queue.fd(), /*timeout_ms=*/0); }
  bool SleepUntilReadable(const CompletionQueue& queue) override {
    return Readable(queue.fd(), static_cast<int>(absl::ToInt64Milliseconds(kGuard)));
  }
  bool registered_memory_is_writable() const override { return true; }
};

[[maybe_unused]] const bool kRegistered =
    OpenDefault().ok() && RegisterFabric({"verbs", [] { return std::make_unique<VerbsUnderTest>(); }});

}  // namespace
}  // namespace skein::fabric
