// Devices with protection domains: what is registered for which trunk.
#include <memory>
#include <vector>

#include "core/base/mutex.h"
#include "tests/unit/service/two_hosts.h"

namespace skein::service {
namespace {

// One, and a device of it for each peer that it was asked for. That of the simulation knows no domains: here it counts
// who has registered what.
class DeviceOfDomains final : public fabric::ForwardingDevice {
 public:
  explicit DeviceOfDomains(std::shared_ptr<fabric::Device> device) : ForwardingDevice(device), device_(device) {}

  absl::StatusOr<std::shared_ptr<fabric::Device>> ForPeer() override {
    MutexLock lock(&mu_);
    domains_.push_back(std::make_shared<CountedDevice>(device_));
    return domains_.back();
  }
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> Register(absl::Span<std::byte> bytes,
                                                                 uint32_t access) override {
    return for_nobody_.Register(bytes, access);
  }
  absl::StatusOr<std::unique_ptr<fabric::QueuePair>> CreateQueuePair(const fabric::QueuePairOptions&) override {
    return absl::InternalError("a queue pair of no domain");
  }
  int for_nobody() const { return for_nobody_.regions; }
  int of(size_t trunk) const {
    MutexLock lock(&mu_);
    return domains_.at(trunk)->regions;
  }
  size_t domains() const {
    MutexLock lock(&mu_);
    return domains_.size();
  }

 private:
  const std::shared_ptr<fabric::Device> device_;
  CountedDevice for_nobody_{device_};
  mutable Mutex mu_;
  std::vector<std::shared_ptr<CountedDevice>> domains_ ABSL_GUARDED_BY(mu_);
};

class Domains : public ::testing::Test {
 protected:
  void Settle() {
    service::Settle(one_, other_);
    service::Settle(one_, third_);
  }

  fabric::Simulation simulation_{20261129, {}};
  const std::shared_ptr<DeviceOfDomains> device_ = std::make_shared<DeviceOfDomains>(simulation_.CreateDevice("one"));
  SkeindHost one_{simulation_, device_};
  SkeindHost other_{simulation_, "other"};
  SkeindHost third_{simulation_, "third"};
};

TEST_F(Domains, MemoryIsRegisteredForTheTrunkThatUsesIt) {
  auto couple = std::make_unique<Couple>(one_, other_);
  EXPECT_EQ(device_->for_nobody(), 1);
  EXPECT_EQ(device_->of(0), 0);
  couple->ExpectWorks();
  Settle();
  EXPECT_EQ(device_->for_nobody(), 0) << "what it has been found to be possible for";
  EXPECT_EQ(device_->of(0), 1);
  Couple from_third(third_, one_);
  from_third.ExpectWorks();
  Settle();
  ASSERT_EQ(device_->domains(), 2U);
  EXPECT_EQ(device_->of(0), 1);
  EXPECT_EQ(device_->of(1), 1) << "what was lent to it, and no more";
  couple = nullptr;
  EXPECT_TRUE(Eventually([&] { return device_->of(0) == 0; }));
  EXPECT_EQ(device_->of(1), 1);
}

TEST_F(Domains, OfATrunkThatHasEndedNothingIsLeft) {
  Couple couple(one_, other_);
  couple.ExpectWorks();
  other_.Stop();
  ASSERT_TRUE(Ended(*couple.to_b));
  EXPECT_TRUE(Eventually([&] { return device_->of(0) == 0; }));
  // The same memory, for another one.
  Process peer(third_);
  const auto pair = NewPair(couple.a);
  const auto peers = NewPair(peer);
  ASSERT_EQ(Connect(*pair, *peers), absl::OkStatus());
  const fabric::SendRequest write = couple.a.Write(peer.memory->remote(), 77);
  ASSERT_EQ(pair->PostSend({&write, 1}), absl::OkStatus());
  EXPECT_TRUE(Eventually([&] {
    fabric::Completion done;
    return couple.a.completions->Poll({&done, 1}) == 1 && done.id == 77 &&
           done.status == fabric::CompletionStatus::kSuccess;
  }));
  EXPECT_EQ(device_->of(1), 1);
}

}  // namespace
}  // namespace skein::service
