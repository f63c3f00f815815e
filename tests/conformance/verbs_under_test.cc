// RDMA devices, where there are any (./run test vm has one): both ends on the default port, by loopback.
#include <fcntl.h>
#include <sys/mman.h>

#include <cstdlib>
#include <memory>

#include "absl/time/clock.h"
#include "core/base/unique_fd.h"
#include "gtest/gtest.h"
#include "tests/conformance/descriptors_under_test.h"
#include "tests/support/rdma_device.h"

namespace skein::fabric {
namespace {

class VerbsUnderTest final : public DescriptorsUnderTest {
 public:
  absl::StatusOr<std::shared_ptr<Device>> MakeDevice(absl::string_view) override { return OpenRdmaDevice(); }
  // Packets arrive when they do, and nothing tells of it but completions, which are not this function's to take.
  void Settle() override { absl::SleepFor(absl::Milliseconds(2)); }
  // The beginning of the DAX device that the environment names.
  absl::Span<std::byte> PersistentMemory() override {
    const char* const path = std::getenv("SKEIN_TEST_DAX_DEVICE");
    if (path == nullptr) return {};
    const UniqueFd device(open(path, O_RDWR | O_CLOEXEC));
    constexpr size_t kBytes = size_t{2} << 20;  // its pages are that large
    void* const mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, device.get(), 0);
    EXPECT_NE(mapped, MAP_FAILED) << path;
    return mapped == MAP_FAILED ? absl::Span<std::byte>() : absl::MakeSpan(static_cast<std::byte*>(mapped), kBytes);
  }
};

[[maybe_unused]] const bool kVerbsRegistered =
    OpenRdmaDevice().ok() && RegisterFabric({"verbs", [] { return std::make_unique<VerbsUnderTest>(); }});

}  // namespace
}  // namespace skein::fabric
