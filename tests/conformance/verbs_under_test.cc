// RDMA devices, where there are any (./run test vm has one): both ends on the default port, by loopback.
#include <memory>

#include "absl/time/clock.h"
#include "tests/conformance/descriptors_under_test.h"
#include "tests/support/rdma_device.h"

namespace skein::fabric {
namespace {

class VerbsUnderTest final : public DescriptorsUnderTest {
 public:
  absl::StatusOr<std::shared_ptr<Device>> MakeDevice(absl::string_view) override { return OpenRdmaDevice(); }
  // Packets arrive when they do, and nothing tells of it but completions, which are not this function's to take.
  void Settle() override { absl::SleepFor(absl::Milliseconds(2)); }
};

[[maybe_unused]] const bool kVerbsRegistered =
    OpenRdmaDevice().ok() && RegisterFabric({"verbs", [] { return std::make_unique<VerbsUnderTest>(); }});

}  // namespace
}  // namespace skein::fabric
