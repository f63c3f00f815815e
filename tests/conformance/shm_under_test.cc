// Shared memory, between two devices of one process: all but the process boundary is real.
#include <memory>

#include "core/fabric/shm/shm_device.h"
#include "tests/conformance/descriptors_under_test.h"

namespace skein::fabric {
namespace {

class ShmUnderTest final : public DescriptorsUnderTest {
 public:
  absl::StatusOr<std::shared_ptr<Device>> MakeDevice(absl::string_view) override { return OpenShmDevice(); }
  void Settle() override {}  // polling moves everything
};

[[maybe_unused]] const bool kShmRegistered = RegisterFabric({"shm", [] { return std::make_unique<ShmUnderTest>(); }});

}  // namespace
}  // namespace skein::fabric
