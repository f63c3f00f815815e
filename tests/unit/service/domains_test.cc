// Devices with protection domains: what is registered for which trunk.
#include <memory>
#include <thread>
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
  CountedDevice& domain(size_t trunk) {
    MutexLock lock(&mu_);
    return *domains_.at(trunk);
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

TEST_F(Domains, APeersHostReachesMemoryAsLongAsItIsLent) {
  Couple couple(one_, other_);
  couple.ExpectWorks();
  EXPECT_EQ(device_->of(0), 1);
  EXPECT_EQ(device_->domain(0).reachable, 0) << "it was the source of requests, and nobody has asked for it";
  const fabric::SendRequest write = couple.b.Write(couple.a.memory->remote(), 5);
  ASSERT_EQ(couple.to_a->PostSend({&write, 1}), absl::OkStatus());
  EXPECT_EQ(Take(*couple.b.completions, 1).at(0).status, fabric::CompletionStatus::kSuccess);
  EXPECT_EQ(device_->domain(0).reachable, 1);
  couple.to_a = nullptr;
  couple.to_b = nullptr;
  EXPECT_TRUE(Eventually([&] { return device_->domain(0).reachable == 0; })) << "the process has the memory still";
}

// Large memory at one_, of a process that has a queue pair with one of other_'s.
class LargeInDomains : public Domains {
 protected:
  static constexpr size_t kLarge = 1 << 20;

  LargeInDomains() : large_(couple_.a.device->Allocate(kLarge, kAllAccess).value()) { couple_.ExpectWorks(); }

  // Of the large memory there, or from it.
  fabric::SendRequest WriteThere() { return couple_.b.Write(large_->remote(), 5); }
  fabric::SendRequest WriteFrom() {
    segment_ = {large_->bytes().data(), 8, large_->lkey()};
    fabric::SendRequest write = couple_.a.Write(couple_.b.memory->remote(), 5);
    write.local = absl::MakeConstSpan(&segment_, 1);
    return write;
  }
  bool IsHeld() {
    return Eventually([this] { return device_->domain(0).held == 1; });
  }
  // While the device registers it others' messages go on; then the WRITE does.
  void ExpectHoldsUpNobody(fabric::QueuePair& pair, const fabric::SendRequest& write, Process& of) {
    Couple beside(one_, other_);
    device_->domain(0).holds_large = true;
    ASSERT_EQ(pair.PostSend({&write, 1}), absl::OkStatus());
    ASSERT_TRUE(IsHeld());
    beside.ExpectWorks();
    device_->domain(0).holds_large = false;
    EXPECT_EQ(Take(*of.completions, 1).at(0).status, fabric::CompletionStatus::kSuccess);
    couple_.ExpectWorks();
  }

  Couple couple_{one_, other_};
  std::unique_ptr<fabric::MemoryRegion> large_;
  fabric::Segment segment_;
};

TEST_F(LargeInDomains, HoldsUpNobodyWhileItIsRegisteredForItsOwnProcess) {
  ExpectHoldsUpNobody(*couple_.to_b, WriteFrom(), couple_.a);
}

TEST_F(LargeInDomains, HoldsUpNobodyWhileItIsRegisteredForThePeer) {
  ExpectHoldsUpNobody(*couple_.to_a, WriteThere(), couple_.b);
}

// Those who are gone do not count as waiting: else a process could end the trunk, which all users share.
TEST_F(LargeInDomains, ThoseWhoWaitedForItAndAreGoneHarmNobody) {
  constexpr int kGone = 8;
  Couple beside(one_, other_);
  std::vector<std::unique_ptr<fabric::QueuePair>> here;
  std::vector<std::unique_ptr<fabric::QueuePair>> there;
  for (int i = 0; i <= kGone; ++i) {
    here.push_back(NewPair(couple_.a));
    there.push_back(NewPair(couple_.b));
    ASSERT_EQ(Connect(*here.back(), *there.back()), absl::OkStatus());
    const fabric::SendRequest known = couple_.a.Write(couple_.b.memory->remote(), 1);  // from then on, where that is
    ASSERT_EQ(here.back()->PostSend({&known, 1}), absl::OkStatus());
    Take(*couple_.a.completions, 1);
  }
  device_->domain(0).holds_large = true;
  const fabric::SendRequest write = WriteFrom();
  for (int i = 0; i < kGone; ++i) ASSERT_EQ(here[i]->PostSend({&write, 1}), absl::OkStatus());
  ASSERT_TRUE(IsHeld());
  Settle();
  here.erase(here.begin(), here.begin() + kGone);
  there.erase(there.begin(), there.begin() + kGone);
  Settle();
  ASSERT_EQ(here.front()->PostSend({&write, 1}), absl::OkStatus());
  Settle();
  beside.ExpectWorks();
  device_->domain(0).holds_large = false;
  EXPECT_EQ(Take(*couple_.a.completions, 1).at(0).status, fabric::CompletionStatus::kSuccess);
}

TEST_F(LargeInDomains, IsNoMemoryAnyMoreIfItsProcessLetsGoOfItMeanwhile) {
  device_->domain(0).holds_large = true;
  const fabric::SendRequest write = WriteThere();
  ASSERT_EQ(couple_.to_a->PostSend({&write, 1}), absl::OkStatus());
  ASSERT_TRUE(IsHeld());
  std::thread forgets([this] { large_ = nullptr; });
  const auto refused = Take(*couple_.b.completions, 1);
  device_->domain(0).holds_large = false;
  forgets.join();
  EXPECT_EQ(refused.at(0).status, fabric::CompletionStatus::kRemoteAccessError);
  EXPECT_TRUE(Ended(*couple_.to_a));
  EXPECT_TRUE(Eventually([this] { return device_->of(0) == 0; })) << "nor what the queue pair had used that has ended";
}

TEST_F(LargeInDomains, IsForgottenWithTheTrunkThatEndsMeanwhile) {
  device_->domain(0).holds_large = true;
  const fabric::SendRequest write = WriteFrom();
  ASSERT_EQ(couple_.to_b->PostSend({&write, 1}), absl::OkStatus());
  ASSERT_TRUE(IsHeld());
  other_.Stop();
  EXPECT_TRUE(Ended(*couple_.to_b));
  device_->domain(0).holds_large = false;
  EXPECT_TRUE(Eventually([this] { return device_->of(0) == 0; }));
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
