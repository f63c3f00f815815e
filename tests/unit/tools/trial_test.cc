// Doctor's trial of two devices: what it says of those that work, and of each step at which one may not.
#include "tools/skein/doctor/trial.h"

#include <cerrno>
#include <functional>
#include <memory>
#include <utility>

#include "core/base/errno_status.h"
#include "core/fabric/sim/simulation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/hooked_device.h"

namespace skein::doctor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr size_t kSizes[] = {64, 4096, 8};

// Remembers the memory that it gave, or gives none.
class MemoryWatch final : public fabric::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> Allocate(size_t bytes, uint32_t access) override {
    if (!refuses.ok()) return refuses;
    auto region = ForwardingDevice::Allocate(bytes, access);
    if (region.ok()) memory = (*region)->bytes();
    return region;
  }
  absl::Span<std::byte> memory;
  absl::Status refuses;
};

// Simulated time goes on when the trial looks for completions.
class TrialTest : public testing::Test {
 protected:
  void Start(const fabric::SimConfig& config = {}) {
    simulation_ = std::make_unique<fabric::Simulation>(20261128, config);
    to_memory_ = std::make_shared<MemoryWatch>(simulation_->CreateDevice("to"));
    fabric::Hooks hooks;
    hooks.completes = [this] {
      simulation_->RunUntilIdle();
      completing_();
      return true;
    };
    from_ = std::make_shared<fabric::HookedDevice>(simulation_->CreateDevice("from"), hooks);
    to_ = std::make_shared<fabric::HookedDevice>(to_memory_, std::move(hooks));
  }
  absl::StatusOr<absl::Duration> Try() const { return TryFabric(from_, to_, kSizes); }

  std::unique_ptr<fabric::Simulation> simulation_;
  std::shared_ptr<MemoryWatch> to_memory_;
  std::shared_ptr<fabric::Device> from_;
  std::shared_ptr<fabric::Device> to_;
  std::function<void()> completing_ = [] {};
};

TEST_F(TrialTest, OfDevicesThatReachEachOtherSucceeds) {
  Start();
  const absl::StatusOr<absl::Duration> took = Try();
  ASSERT_TRUE(took.ok()) << took.status();
  EXPECT_GT(*took, absl::ZeroDuration());
}

TEST_F(TrialTest, NamesTheWriteThatDidNotComplete) {
  Start();
  simulation_->Partition("from", "to");
  EXPECT_THAT(Try().status().ToString(), AllOf(HasSubstr("WRITE of 64 bytes: "), HasSubstr("retry")));
}

TEST_F(TrialTest, NamesTheMemoryThatIsNotThere) {
  fabric::SimConfig config;
  config.max_allocated_bytes = 1;
  Start(config);
  const absl::Status status = Try().status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("memory: "));
}

TEST_F(TrialTest, ComparesTheBytesThatHaveArrived) {
  Start();
  completing_ = [this] { to_memory_->memory[0] ^= std::byte{1}; };
  const absl::Status status = Try().status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("other bytes arrived"));
}

TEST_F(TrialTest, KeepsTheKernelsReason) {
  Start();
  to_memory_->refuses = ErrnoStatus(ENOMEM, "allocate");
  const absl::Status status = Try().status();
  EXPECT_TRUE(CameOfErrno(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("memory: cannot allocate"));
}

}  // namespace
}  // namespace skein::doctor
