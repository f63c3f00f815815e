// Memory that a process lets go of while requests name it.
#include <thread>

#include "tests/unit/service/two_hosts.h"

namespace skein::service {
namespace {

using fabric::CompletionStatus;

class Regions : public TwoHosts {
 protected:
  Couple couple_{one_, other_};
};

TEST_F(Regions, AreKeptWhileAPeersRequestIsUnderWay) {
  auto forgotten = couple_.b.device->Allocate(4096, fabric::kRemoteWrite).value();
  const fabric::RemoteAddress remote = forgotten->remote();
  ASSERT_EQ(device_other_->regions, 2);
  HoldTime(true);
  const fabric::SendRequest write = couple_.a.Write(remote, 1);
  ASSERT_EQ(couple_.to_b->PostSend({&write, 1}), absl::OkStatus());
  Settle();
  std::thread forgets([&] { forgotten = nullptr; });
  Settle();
  EXPECT_EQ(device_other_->regions, 2) << "the device may write there still";
  HoldTime(false);
  forgets.join();
  EXPECT_EQ(device_other_->regions, 1) << "whoever has forgotten it has heard that nothing reaches it";
  EXPECT_EQ(Take(*couple_.a.completions, 1).at(0).status, CompletionStatus::kSuccess);
  couple_.ExpectWorks();
}

TEST_F(Regions, AreKeptWhileAnOwnRequestIsUnderWay) {
  auto source = couple_.a.device->Allocate(4096, fabric::kLocalOnly).value();
  const fabric::Segment segment = {source->bytes().data(), 8, source->lkey()};
  fabric::SendRequest write = couple_.a.Write(couple_.b.memory->remote(), 1);
  write.local = absl::MakeConstSpan(&segment, 1);
  write.signaled = false;
  ASSERT_EQ(device_one_->regions, 2);
  HoldTime(true);
  ASSERT_EQ(couple_.to_b->PostSend({&write, 1}), absl::OkStatus());
  Settle();
  std::thread forgets([&] { source = nullptr; });
  Settle();
  EXPECT_EQ(device_one_->regions, 2) << "the device may read there still";
  HoldTime(false);
  forgets.join();
  EXPECT_EQ(device_one_->regions, 1);
  couple_.ExpectWorks();
}

TEST_F(Regions, ThatAreForgottenAreNobodys) {
  auto forgotten = couple_.b.device->Allocate(4096, fabric::kRemoteWrite).value();
  const fabric::SendRequest write = couple_.a.Write(forgotten->remote(), 1);
  ASSERT_EQ(couple_.to_b->PostSend({&write, 1}), absl::OkStatus());
  EXPECT_EQ(Take(*couple_.a.completions, 1).at(0).status, CompletionStatus::kSuccess);
  forgotten = nullptr;
  EXPECT_EQ(device_other_->regions, 1);
  Couple other(one_, other_);
  ASSERT_EQ(couple_.to_b->PostSend({&write, 1}), absl::OkStatus());
  EXPECT_EQ(Take(*couple_.a.completions, 1).at(0).status, CompletionStatus::kRemoteAccessError);
  EXPECT_TRUE(Ended(*couple_.to_b));
  EXPECT_EQ(couple_.to_b->error().code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(Ended(*couple_.to_a));
  other.ExpectWorks();
}

// The peer never heard where it is.
TEST_F(Regions, ThatNobodyHasUsedGoAtOnce) {
  HoldTime(true);
  auto forgotten = couple_.b.device->Allocate(4096, fabric::kRemoteWrite).value();
  forgotten = nullptr;
  EXPECT_EQ(device_other_->regions, 1);
  HoldTime(false);
}

TEST_F(Regions, GoWithTheQueuePairThatWroteThere) {
  auto forgotten = couple_.b.device->Allocate(4096, fabric::kRemoteWrite).value();
  const fabric::SendRequest write = couple_.a.Write(forgotten->remote(), 1);
  ASSERT_EQ(couple_.to_b->PostSend({&write, 1}), absl::OkStatus());
  Take(*couple_.a.completions, 1);
  couple_.to_b = nullptr;
  couple_.to_a = nullptr;
  forgotten = nullptr;
  EXPECT_TRUE(Eventually([&] { return device_other_->regions == 1; }));
}

// Large memory, of a process that asks for it without waiting.
class LargeRegions : public Regions {
 protected:
  static constexpr uint64_t kBytes = 1 << 20;

  bool AsksToRegister() { return Asks(RawSession::Operation::kRegister, kBytes, memory_.memfd.get()); }
  bool AsksToForget(uint32_t number) { return Asks(RawSession::Operation::kForget, 0, -1, number); }
  bool IsHeld() {
    return Eventually([this] { return device_one_->held == 1; });
  }

  RawProcess process_{one_.folder()};

 private:
  bool Asks(RawSession::Operation operation, uint64_t bytes, int fd, uint32_t number = 0) {
    RawSession::Request request;
    request.operation = operation;
    request.size = bytes;
    request.number = number;
    request.access = kAllAccess;
    return process_.session.Send(request, fd);
  }

  const SharedMemory memory_ = CreateShared("large", kBytes, /*peers_write=*/true).value();
};

TEST_F(LargeRegions, HoldUpNobodyWhileTheyAreRegisteredAndDeregistered) {
  device_one_->holds_large = true;
  ASSERT_TRUE(AsksToRegister());
  ASSERT_TRUE(IsHeld());
  couple_.ExpectWorks();
  device_one_->holds_large = false;
  const auto registered = process_.session.Receive();
  ASSERT_EQ(registered.status(), absl::OkStatus());
  EXPECT_EQ(device_one_->regions, 3) << "the couple's, and the two of the process";
  device_one_->holds_large = true;
  ASSERT_TRUE(AsksToForget(registered->number));
  ASSERT_TRUE(IsHeld());
  couple_.ExpectWorks();
  device_one_->holds_large = false;
  EXPECT_EQ(process_.session.Receive().status(), absl::OkStatus());
  EXPECT_EQ(device_one_->regions, 2) << "the process hears that it is forgotten once it is deregistered";
}

TEST_F(LargeRegions, GoWithTheProcessThatDiesMeanwhile) {
  device_one_->holds_large = true;
  ASSERT_TRUE(AsksToRegister());
  ASSERT_TRUE(IsHeld());
  process_.session.Leave();
  EXPECT_TRUE(Eventually([this] { return device_one_->regions == 1; })) << "the small one of the process has gone";
  device_one_->holds_large = false;
  EXPECT_TRUE(Eventually([this] { return device_one_->large_gone_in.load() != std::thread::id(); }));
  EXPECT_NE(device_one_->large_gone_in.load(), device_one_->small_in.load()) << "skeind's own thread goes on";
  EXPECT_TRUE(Eventually([this] { return device_one_->regions == 1; }));
  couple_.ExpectWorks();
}

TEST_F(LargeRegions, GoWithSkeindThatStopsMeanwhile) {
  device_one_->holds_large = true;
  ASSERT_TRUE(AsksToRegister());
  ASSERT_TRUE(IsHeld());
  std::thread stops([this] { one_.Stop(); });
  EXPECT_EQ(process_.session.Receive().status().message(), "skeind has ended the session") << "it stops";
  EXPECT_EQ(device_one_->held, 1) << "and waits for the large one";
  device_one_->holds_large = false;
  stops.join();
  EXPECT_EQ(device_one_->regions, 0);
}

// Others' large memory comes first. The process takes another path; the memory goes when it has been registered.
TEST_F(LargeRegions, AreRefusedWhenTheyHaveToWaitForLong) {
  device_one_->holds_large = true;
  ASSERT_TRUE(AsksToRegister());
  const auto refused = process_.session.Receive();
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(static_cast<absl::StatusCode>(refused->code), absl::StatusCode::kUnavailable);
  couple_.ExpectWorks();
  device_one_->holds_large = false;
  EXPECT_TRUE(Eventually([this] { return device_one_->large_gone_in.load() != std::thread::id(); }));
  EXPECT_TRUE(Eventually([this] { return device_one_->regions == 2; }));
  EXPECT_TRUE(process_.session.Ask(RawSession::Operation::kOffer, process_.number).ok()) << "its session goes on";
}

// One request at a time holds for what is answered later, too.
TEST_F(LargeRegions, AreTheOnlyRequestOfTheirProcessMeanwhile) {
  device_one_->holds_large = true;
  ASSERT_TRUE(AsksToRegister());
  ASSERT_TRUE(IsHeld());
  EXPECT_EQ(process_.session.Ask(RawSession::Operation::kOffer, process_.number).status().code(),
            absl::StatusCode::kInvalidArgument);
  device_one_->holds_large = false;
  EXPECT_EQ(process_.session.Receive().status(), absl::OkStatus());
}

// skeind says of memory that it is about to go, to another skeind that has gone already.
TEST_F(Regions, AreForgottenWhileTheTrunkEnds) {
  for (int round = 0; round < 10; ++round) {
    Couple couple(one_, other_);
    std::vector<std::unique_ptr<fabric::MemoryRegion>> many;
    for (int i = 0; i < 16; ++i) {
      many.push_back(couple.a.device->Allocate(4096, fabric::kRemoteWrite).value());
      const fabric::SendRequest write = couple.b.Write(many.back()->remote(), 1);
      ASSERT_EQ(couple.to_a->PostSend({&write, 1}), absl::OkStatus());
    }
    EXPECT_EQ(Take(*couple.b.completions, 16).size(), 16U);
    std::thread stops([this] { other_.Stop(); });
    many.clear();
    stops.join();
    EXPECT_TRUE(Ended(*couple.to_b));
    other_.Start();
  }
}

}  // namespace
}  // namespace skein::service
