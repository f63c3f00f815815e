// Durable connections, in every mode, over every fabric.
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "core/durable/flush/flush_receiver.h"
#include "core/durable/flush/flush_sender.h"
#include "core/durable/storage/open_storage.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/conformance.h"
#include "tests/unit/durable/crashing_memory.h"

namespace skein::durable {
namespace {

using fabric::FabricFactory;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr RingShape kShape{.slot_bytes = 256, .slots = 8};

class DurableFlush : public testing::TestWithParam<std::tuple<FabricFactory, FlushMode>> {
 protected:
  void SetUp() override {
    fabric_ = std::get<0>(GetParam()).make();
    sending_ = fabric_->MakeDevice("a").value();
    receiving_ = fabric_->MakeDevice("b").value();
    memory_ = std::make_shared<CrashingMemory>(StorageBytes(kShape));
    receiver_options_.mode = sender_options_.mode = mode();
    receiver_options_.shape = kShape;
    sender_options_.slots = kShape.slots;
    sender_options_.client = {7};
  }
  FlushMode mode() const { return std::get<1>(GetParam()); }

  void OpenReceiver(std::shared_ptr<Storage> storage) {
    receiver_.reset();
    auto receiver = FlushReceiver::Open(*receiving_, std::move(storage), receiver_options_);
    ASSERT_TRUE(receiver.ok()) << receiver.status();
    receiver_ = *std::move(receiver);
  }
  absl::Status ConnectSender() {
    sender_.reset();
    auto sender = FlushSender::Create(*sending_, sender_options_);
    if (!sender.ok()) return sender.status();
    sender_ = *std::move(sender);
    const absl::StatusOr<std::string> offer = sender_->Offer();
    if (!offer.ok()) return offer.status();
    const absl::StatusOr<std::string> answer = receiver_->Accept(*offer);
    if (!answer.ok()) return answer.status();
    return sender_->Complete(*answer);
  }
  void Connect() {
    OpenReceiver(memory_->Open());
    const absl::Status connected = ConnectSender();
    ASSERT_TRUE(connected.ok()) << connected;
  }

  void PollSender() {
    sender_
        ->Poll([this](uint64_t sequence, absl::string_view reply) {
          EXPECT_TRUE(replies_.emplace(sequence, reply).second) << "a second reply to " << sequence;
        })
        .IgnoreError();
  }
  void PollReceiver() {
    receiver_->Poll([this](FlushEntry entry) { requests_.push_back(std::move(entry)); }).IgnoreError();
  }
  bool Eventually(absl::FunctionRef<bool()> condition) {
    const absl::Time given_up = absl::Now() + fabric::kGuard;
    while (absl::Now() < given_up) {
      fabric_->Settle();
      if (receiver_) PollReceiver();
      if (sender_) PollSender();
      if (condition()) return true;
    }
    return false;
  }
  std::vector<uint64_t> Requested() const {
    std::vector<uint64_t> sequences;
    for (const FlushEntry& request : requests_) sequences.push_back(request.sequence);
    return sequences;
  }
  void SendMany(int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(sender_->Send(absl::StrCat("request ", sender_->next())).ok());
    }
    ASSERT_TRUE(sender_->Flush().ok());
  }

  std::unique_ptr<fabric::FabricUnderTest> fabric_;
  std::shared_ptr<fabric::Device> sending_;
  std::shared_ptr<fabric::Device> receiving_;
  std::shared_ptr<CrashingMemory> memory_;
  FlushReceiverOptions receiver_options_;
  FlushSenderOptions sender_options_;
  std::unique_ptr<FlushReceiver> receiver_;
  std::unique_ptr<FlushSender> sender_;
  std::vector<FlushEntry> requests_;
  std::map<uint64_t, std::string> replies_;
};

TEST_P(DurableFlush, ARequestIsAcknowledgedBeforeItIsExecuted) {
  Connect();
  EXPECT_EQ(sender_->acknowledged().up_to, 0u);
  SendMany(1);
  ASSERT_TRUE(Eventually([&] { return sender_->acknowledged().up_to == 1 && !requests_.empty(); }));
  EXPECT_TRUE(replies_.empty());
  EXPECT_EQ(sender_->finished(), 0u);
  EXPECT_EQ(requests_[0].payload, "request 1");
  EXPECT_EQ(requests_[0].client, ClientId{7});
  ASSERT_TRUE(receiver_->Finish(1, "reply").ok());
  ASSERT_TRUE(Eventually([&] { return !replies_.empty(); }));
  EXPECT_EQ(replies_[1], "reply");
  EXPECT_EQ(sender_->finished(), 1u);
}

TEST_P(DurableFlush, OneFlushIsForSeveral) {
  Connect();
  SendMany(5);
  ASSERT_TRUE(Eventually([&] { return sender_->acknowledged().up_to == 5 && requests_.size() == 5; }));
  EXPECT_THAT(Requested(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(requests_[4].payload, "request 5");
}

TEST_P(DurableFlush, SizesFromNoneToASlot) {
  Connect();
  std::vector<std::string> payloads = {"", "1", "1234567", "12345678", std::string(sender_->largest_payload(), 'x')};
  for (const std::string& payload : payloads) ASSERT_TRUE(sender_->Send(payload).ok());
  ASSERT_TRUE(sender_->Flush().ok());
  ASSERT_TRUE(Eventually([&] { return requests_.size() == payloads.size(); }));
  for (size_t i = 0; i < payloads.size(); ++i) EXPECT_EQ(requests_[i].payload, payloads[i]);
  const std::string too_long(sender_->largest_payload() + 1, 'x');
  EXPECT_EQ(sender_->Send(too_long).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(DurableFlush, AFullLogIsRefusedAndAskedToSlowDown) {
  Connect();
  EXPECT_EQ(sender_->space(), kShape.slots);
  EXPECT_FALSE(sender_->slow_down());
  SendMany(kShape.slots);
  EXPECT_EQ(sender_->Send("one more").status().code(), absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(Eventually([&] { return requests_.size() == kShape.slots && sender_->slow_down(); }));
  for (uint64_t sequence = 1; sequence <= kShape.slots; ++sequence) ASSERT_TRUE(receiver_->Finish(sequence, "").ok());
  ASSERT_TRUE(Eventually([&] { return sender_->space() == kShape.slots && !sender_->slow_down(); }));
}

TEST_P(DurableFlush, ManyLapsFinishedInAnyOrder) {
  Connect();
  constexpr uint64_t kRequests = 300;
  uint64_t sent = 0;
  ASSERT_TRUE(Eventually([&] {
    while (sent < kRequests && sender_->space() > 0) sent = sender_->Send(absl::StrCat("request ", sent + 1)).value();
    EXPECT_TRUE(sender_->Flush().ok());
    // Every third later than the others.
    static_assert(kRequests % 3 == 0);
    std::vector<FlushEntry> later;
    for (FlushEntry& request : requests_) {
      EXPECT_EQ(request.payload, absl::StrCat("request ", request.sequence));
      if (request.sequence % 3 == 0 && request.client != ClientId{}) {
        request.client = {};
        later.push_back(std::move(request));
      } else {
        EXPECT_TRUE(receiver_->Finish(request.sequence, absl::StrCat("reply ", request.sequence)).ok());
      }
    }
    requests_ = std::move(later);
    return replies_.size() == kRequests;
  })) << replies_.size()
      << " " << sender_->status();
  for (const auto& [sequence, reply] : replies_) EXPECT_EQ(reply, absl::StrCat("reply ", sequence));
  EXPECT_EQ(sender_->finished(), kRequests);
}

TEST_P(DurableFlush, WhatIsUnfinishedComesAgainAndNothingElse) {
  const std::shared_ptr<Storage> storage = memory_->Open();
  OpenReceiver(storage);
  ASSERT_TRUE(ConnectSender().ok());
  SendMany(5);
  ASSERT_TRUE(Eventually([&] { return sender_->acknowledged().up_to == 5 && requests_.size() == 5; }));
  ASSERT_TRUE(receiver_->Finish(1, "").ok());
  ASSERT_TRUE(receiver_->Finish(3, "").ok());
  ASSERT_TRUE(Eventually([&] { return replies_.size() == 2; }));
  requests_.clear();
  sender_.reset();
  OpenReceiver(memory_->Open());
  PollReceiver();
  EXPECT_THAT(Requested(), ElementsAre(2, 4, 5));
  EXPECT_EQ(requests_[1].payload, "request 4");
  EXPECT_EQ(receiver_->Finish(3, "").code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(receiver_->Finish(2, "").ok());
  PollReceiver();
  replies_.clear();
  // Who connects now goes on behind them, and hears of those that a former sender sent.
  ASSERT_TRUE(ConnectSender().ok());
  EXPECT_EQ(sender_->next(), 6u);
  EXPECT_EQ(sender_->space(), kShape.slots - 2);
  SendMany(1);
  ASSERT_TRUE(Eventually([&] { return requests_.size() == 4; }));
  for (const uint64_t sequence : {6, 5, 4}) ASSERT_TRUE(receiver_->Finish(sequence, "done").ok());
  ASSERT_TRUE(Eventually([&] { return replies_.size() == 3; }));
  EXPECT_EQ(sender_->space(), kShape.slots);
}

TEST_P(DurableFlush, ALevelThatIsNotHadIsRefusedWithWhatToChange) {
  OpenReceiver(memory_->Open());
  sender_options_.wanted = Persistence::kPersistent;
  const absl::Status refused = ConnectSender();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("not persistent: "));
  // The receiver waits for a better one.
  sender_options_.wanted = Persistence::kVisible;
  EXPECT_TRUE(ConnectSender().ok());
  EXPECT_EQ(sender_->acknowledged().level, receiver_->level());
  const bool by_platform = FlushedBySender(mode()) && receiver_->verb() != FlushVerb::kFlushPersistent;
  EXPECT_EQ(absl::StrContains(refused.message(), "DDIO"), by_platform) << refused;
}

TEST_P(DurableFlush, ReceiversAndSendersOfDifferentKindsDoNotConnect) {
  OpenReceiver(memory_->Open());
  sender_options_.slots = 4;
  EXPECT_THAT(ConnectSender().message(), HasSubstr("let them have the same"));
  sender_options_.slots = kShape.slots;
  sender_options_.mode = mode() == FlushMode::kSFlush ? FlushMode::kWRFlush : FlushMode::kSFlush;
  EXPECT_EQ(ConnectSender().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_P(DurableFlush, ADeadReceiverEndsTheSender) {
  Connect();
  SendMany(1);
  ASSERT_TRUE(Eventually([&] { return sender_->acknowledged().up_to == 1; }));
  receiver_.reset();
  ASSERT_TRUE(Eventually([&] { return !sender_->status().ok(); }));
  EXPECT_EQ(sender_->status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(sender_->Send("x").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(sender_->acknowledged().up_to, 1u);
}

TEST_P(DurableFlush, ADeadSenderLeavesWhatItSent) {
  Connect();
  SendMany(2);
  ASSERT_TRUE(Eventually([&] { return requests_.size() == 2; }));
  sender_.reset();
  ASSERT_TRUE(receiver_->Finish(1, "nobody is there").ok());
  ASSERT_TRUE(Eventually([&] { return !receiver_->connected(); }));
  ASSERT_TRUE(receiver_->Finish(2, "nor now").ok());
  PollReceiver();
  EXPECT_EQ(receiver_->unfinished(), 0u);
}

TEST_P(DurableFlush, ASenderFlushesByTheBestThatBothDevicesOffer) {
  Connect();
  const fabric::DeviceCapabilities device = receiving_->capabilities();
  const bool native = FlushedBySender(mode()) && device.flush;
  EXPECT_EQ(sender_->verb() != FlushVerb::kRead, native) << FlushVerbName(sender_->verb());
  EXPECT_EQ(receiver_->verb(), sender_->verb());
  // Of a row that goes over the ring's end, too.
  for (int turn = 0; turn < 5; ++turn) {
    SendMany(5);
    const uint64_t last = sender_->next() - 1;
    ASSERT_TRUE(Eventually([&] { return sender_->acknowledged().up_to == last && requests_.size() == 5; }));
    for (uint64_t sequence = last - 4; sequence <= last; ++sequence) ASSERT_TRUE(receiver_->Finish(sequence, "").ok());
    ASSERT_TRUE(Eventually([&] { return sender_->finished() == last; }));
    requests_.clear();
  }
  EXPECT_EQ(replies_.size(), 25u);
}

// Where the devices take some memory for persistent, nobody need say anything of the platform.
TEST_P(DurableFlush, OnPersistentMemoryOfTheDevicesFlushesAreWhatTheStorageIs) {
  const char* const path = std::getenv("SKEIN_TEST_DAX_DEVICE");
  if (path == nullptr || !receiving_->capabilities().flush_persistent || !FlushedBySender(mode())) {
    GTEST_SKIP() << "no DAX device, or no FLUSH to it";
  }
  const auto open = [&] {
    auto storage = OpenStorage(path, uint64_t{2} << 20);
    EXPECT_TRUE(storage.ok()) << storage.status();
    std::memset((*storage)->mapped().data(), 0, requests_.empty() ? (*storage)->size() : 0);
    OpenReceiver(*std::move(storage));
  };
  open();
  sender_options_.wanted = Persistence::kPersistent;
  const absl::Status connected = ConnectSender();
  ASSERT_TRUE(connected.ok()) << connected;
  EXPECT_EQ(sender_->verb(), FlushVerb::kFlushPersistent);
  EXPECT_EQ(sender_->acknowledged().level, Persistence::kPersistent);
  SendMany(7);
  ASSERT_TRUE(Eventually([&] { return sender_->acknowledged().up_to == 7 && requests_.size() == 7; }));
  ASSERT_TRUE(receiver_->Finish(1, "").ok());
  ASSERT_TRUE(Eventually([&] { return replies_.size() == 1; }));
  // The receiver's next life.
  sender_.reset();
  receiver_.reset();
  open();
  requests_.clear();
  PollReceiver();
  EXPECT_THAT(Requested(), ElementsAre(2, 3, 4, 5, 6, 7));
}

std::string Name(const testing::TestParamInfo<std::tuple<FabricFactory, FlushMode>>& info) {
  return absl::StrCat(std::get<0>(info.param).name, "_",
                      absl::StrReplaceAll(FlushModeName(std::get<1>(info.param)), {{"-", "_"}}));
}
INSTANTIATE_TEST_SUITE_P(EveryFabric, DurableFlush,
                         testing::Combine(fabric::EveryFabric(),
                                          testing::Values(FlushMode::kWFlush, FlushMode::kSFlush, FlushMode::kWRFlush,
                                                          FlushMode::kSRFlush)),
                         Name);

}  // namespace
}  // namespace skein::durable
