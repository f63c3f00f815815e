// Peers that do not keep to the protocol: they lose their connection, and nothing else happens.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/durable/flush/flush_receiver.h"
#include "core/durable/flush/flush_sender.h"
#include "core/fabric/sim/simulation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/fabric_end.h"
#include "tests/unit/durable/crashing_memory.h"

namespace skein::durable {
namespace {

using testing::HasSubstr;

class HostilePeer : public testing::Test {
 protected:
  static constexpr RingShape kShape{.slot_bytes = 128, .slots = 4};

  // The peer's end is by hand.
  HostilePeer() : peer_(simulation_.CreateDevice("peer")), own_(simulation_.CreateDevice("own")) {}
  void Run() { simulation_.RunUntilIdle(); }

  fabric::Simulation simulation_{1};
  fabric::End peer_;
  const std::shared_ptr<fabric::Device> own_;
};

class HostileSender : public HostilePeer {
 protected:
  // The queue has room for so many replies, beside as many feedback words as may be on their way.
  static constexpr uint64_t kRepliesOnTheirWay = uint64_t{2} * kShape.slots;

  void SetUp() override { SetUpAnew(); }
  void SetUpAnew(std::shared_ptr<Storage> storage = nullptr) {
    receiver_.reset();
    peer_.queue_pair = peer_.NewQueuePair();
    FlushReceiverOptions options;
    options.shape = kShape;
    receiver_ = FlushReceiver::Open(*own_, std::move(storage), options).value();
    FlushOffer offer;
    offer.mode = options.mode;
    offer.slots = kShape.slots;
    offer.reply_bytes = 8;
    offer.feedback = peer_.Remote(4096);
    offer.queue_pair = peer_.queue_pair->Offer().value();
    answer_ = DecodeAnswer(receiver_->Accept(EncodeOffer(offer)).value()).value();
    ASSERT_TRUE(peer_.queue_pair->Complete(answer_.queue_pair).ok());
  }
  void Write(uint64_t offset, absl::string_view bytes) {
    peer_.Put(0, bytes);
    ASSERT_TRUE(fabric::Post(*peer_.queue_pair, fabric::Opcode::kWrite, peer_.Local(0, bytes.size()),
                             After(answer_.slots, offset))
                    .ok());
    Run();
    peer_.Poll();
  }
  std::string Slot(uint64_t sequence, absl::string_view payload, const RingKey& key, uint64_t settled = 0) {
    std::string slot(kShape.slot_bytes, '\0');
    MakeFlushEntry({reinterpret_cast<std::byte*>(slot.data()), slot.size()}, HeaderPlace::kLast, key, {}, sequence,
                   settled, payload);
    return slot;
  }
  void Request(uint64_t sequence, uint64_t settled = 0) {
    Write(SlotOf(kShape, sequence) * kShape.slot_bytes, Slot(sequence, "request", answer_.key, settled));
  }
  absl::Status PollAndFinish() {
    return receiver_->Poll(
        [this](const FlushEntry& entry) { ASSERT_TRUE(receiver_->Finish(entry.sequence, "reply").ok()); });
  }
  absl::Status Poll() {
    return receiver_->Poll([this](FlushEntry entry) { requests_.push_back(entry.payload); });
  }

  std::unique_ptr<FlushReceiver> receiver_;
  FlushAnswer answer_;
  std::vector<std::string> requests_;
};

TEST_F(HostileSender, AGoodEntryIsTakenSoTheseTestsCanFail) {
  Write(kShape.slot_bytes, Slot(1, "good", answer_.key));
  EXPECT_TRUE(Poll().ok());
  EXPECT_THAT(requests_, testing::ElementsAre("good"));
}

TEST_F(HostileSender, EachFlippedBitOfAnEntryEndsTheConnection) {
  for (size_t bit = 0; bit < (4 + kFlushHeaderBytes) * 8; bit += 7) {
    requests_.clear();
    SetUpAnew();
    std::string slot = Slot(1, "good", answer_.key);
    // The payload "good" and its padding lie before the header.
    const size_t at = bit / 8 < 4 ? kShape.slot_bytes - kFlushHeaderBytes - 8 + bit / 8
                                  : kShape.slot_bytes - kFlushHeaderBytes + bit / 8 - 4;
    slot[at] = static_cast<char>(slot[at] ^ (1 << bit % 8));
    const bool another_sequence = at >= kShape.slot_bytes - 4;
    Write(kShape.slot_bytes, slot);
    EXPECT_EQ(Poll().ok(), another_sequence) << "bit " << bit;
    EXPECT_TRUE(requests_.empty()) << "bit " << bit;
  }
}

TEST_F(HostileSender, AnotherOpeningsKeyIsNone) {
  RingKey key = answer_.key;
  ++key.epoch;
  Write(kShape.slot_bytes, Slot(1, "late", key));
  EXPECT_THAT(std::string(Poll().message()), HasSubstr("checksum"));
  EXPECT_FALSE(receiver_->connected());
}

TEST_F(HostileSender, ReachesNothingButTheSlots) {
  Write(SlotsBytes(kShape), "behind the last slot, where nothing of it is");
  for (int i = 0; i < 1000 && receiver_->connected(); ++i) Poll().IgnoreError();
  EXPECT_FALSE(receiver_->connected());
}

TEST_F(HostileSender, WhoTakesNoRepliesIsCutOff) {
  absl::Status status;
  uint64_t sequence = 0;
  while (status.ok() && sequence < 1000) {
    Request(++sequence);
    status = PollAndFinish();
  }
  EXPECT_THAT(std::string(status.message()), HasSubstr("takes no replies"));
  EXPECT_EQ(sequence, kRepliesOnTheirWay + kShape.slots + 1) << "an honest one may wait for a reply to each slot";
}

TEST_F(HostileSender, WhoTakesThemLateGetsThemAll) {
  for (uint64_t sequence = 1; sequence <= kRepliesOnTheirWay + kShape.slots; ++sequence) {
    Request(sequence);
    ASSERT_TRUE(PollAndFinish().ok());
  }
  for (uint64_t receives = 0; receives < kRepliesOnTheirWay + kShape.slots; ++receives) {
    ASSERT_TRUE(fabric::PostReceive(*peer_.queue_pair, {}).ok());
    Run();
    ASSERT_TRUE(PollAndFinish().ok());
  }
  Run();
  std::vector<uint32_t> replies;
  for (const fabric::Completion& completion : peer_.Poll()) replies.push_back(completion.immediate);
  EXPECT_THAT(replies, testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
}

// A storage that is not mapped, and tells when it is written.
class ToldStorage final : public Storage {
 public:
  ToldStorage(std::shared_ptr<Storage> storage, std::function<void()> written)
      : storage_(std::move(storage)), written_(std::move(written)) {}
  uint64_t size() const override { return storage_->size(); }
  Persistence persistence() const override { return storage_->persistence(); }
  bool fine_grained() const override { return storage_->fine_grained(); }
  using Storage::Persist;
  using Storage::Write;
  absl::Status Write(uint64_t offset, absl::Span<const absl::string_view> pieces) override {
    absl::Status status = storage_->Write(offset, pieces);
    written_();
    return status;
  }
  absl::Status WriteWord(uint64_t offset, uint64_t value) override { return storage_->WriteWord(offset, value); }
  absl::Status Persist(absl::Span<const Extent> extents) override { return storage_->Persist(extents); }
  absl::Status Read(uint64_t offset, absl::Span<char> into) const override { return storage_->Read(offset, into); }

 private:
  const std::shared_ptr<Storage> storage_;
  const std::function<void()> written_;
};

TEST_F(HostileSender, WhatIsOverwrittenWhileItIsPersistedIsStoredAsItWasChecked) {
  const auto memory = std::make_shared<CrashingMemory>(StorageBytes(kShape));
  bool overwrite = false;
  SetUpAnew(std::make_shared<ToldStorage>(memory->Open(/*mapped=*/false), [&] {
    if (!std::exchange(overwrite, false)) return;
    for (const uint64_t slot : {1, 2}) Write(slot * kShape.slot_bytes, std::string(kShape.slot_bytes, 'z'));
  }));
  Request(1);
  Request(2);
  overwrite = true;
  ASSERT_TRUE(Poll().ok());
  ASSERT_FALSE(overwrite);
  Request(3, /*settled=*/2);
  ASSERT_TRUE(Poll().ok());
  memory->LosePower();
  SetUpAnew(memory->Open(/*mapped=*/false));
  requests_.clear();
  ASSERT_TRUE(Poll().ok());
  EXPECT_THAT(requests_, testing::ElementsAre("request", "request", "request"));
}

// A power cut while both are persisted could leave the second one alone: a ring that is damaged, by what it says.
TEST_F(HostileSender, ClaimsAnAcknowledgementThatItWasNotGiven) {
  SetUpAnew(std::make_shared<CrashingMemory>(StorageBytes(kShape))->Open(/*mapped=*/false));
  Request(1);
  Request(2, /*settled=*/1);
  EXPECT_THAT(std::string(Poll().message()), HasSubstr("acknowledgement"));
  EXPECT_FALSE(receiver_->connected());
  EXPECT_THAT(requests_, testing::ElementsAre("request"));
}

class HostileReceiver : public HostilePeer {
 protected:
  void SetUp() override {
    FlushSenderOptions options;
    options.slots = kShape.slots;
    options.reply_bytes = 8;
    sender_ = FlushSender::Create(*own_, options).value();
    offer_ = DecodeOffer(sender_->Offer().value()).value();
    FlushAnswer answer;
    answer.shape = kShape;
    answer.key.epoch = 1;
    answer.slots = peer_.Remote(4096);
    answer.queue_pair = peer_.queue_pair->Accept(offer_.queue_pair).value();
    ASSERT_TRUE(sender_->Complete(EncodeAnswer(answer)).ok());
    ASSERT_TRUE(sender_->Send("request").ok());
    ASSERT_TRUE(sender_->Flush().ok());
    Run();
  }
  void Feedback(uint64_t word) {
    peer_.PutWord(0, word);
    ASSERT_TRUE(
        fabric::Post(*peer_.queue_pair, fabric::Opcode::kWrite, peer_.Local(0, sizeof(word)), offer_.feedback).ok());
    Run();
  }
  void Reply(uint32_t sequence, size_t bytes) {
    const fabric::Segment local = peer_.Local(0, bytes);
    fabric::SendRequest request =
        fabric::Request(fabric::Opcode::kWriteWithImmediate, {&local, 1}, After(offer_.feedback, kFeedbackBytes));
    request.immediate = sequence;
    ASSERT_TRUE(fabric::Post(*peer_.queue_pair, request).ok());
    Run();
  }
  absl::Status Poll() {
    return sender_->Poll([this](uint64_t, absl::string_view) { ++replies_; });
  }

  std::unique_ptr<FlushSender> sender_;
  FlushOffer offer_;
  int replies_ = 0;
};

TEST_F(HostileReceiver, AGoodOneIsBelievedSoTheseTestsCanFail) {
  Feedback(1 | kSlowDown);
  EXPECT_TRUE(Poll().ok());
  EXPECT_EQ(sender_->acknowledged().up_to, 1u);
  EXPECT_TRUE(sender_->slow_down());
  Reply(1, 8);
  EXPECT_TRUE(Poll().ok());
  EXPECT_EQ(replies_, 1);
}
TEST_F(HostileReceiver, AcknowledgesWhatWasNeverSent) {
  Feedback(2);
  EXPECT_EQ(Poll().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(sender_->acknowledged().up_to, 0u);
}
TEST_F(HostileReceiver, RepliesToWhatWasNeverSent) {
  Reply(2, 0);
  EXPECT_EQ(Poll().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(replies_, 0);
}
TEST_F(HostileReceiver, RepliesTwice) {
  Reply(1, 0);
  Reply(1, 0);
  EXPECT_EQ(Poll().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(replies_, 1);
}
TEST_F(HostileReceiver, RepliesAtTooGreatLength) {
  Reply(1, 9);
  EXPECT_EQ(Poll().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(replies_, 0);
}

}  // namespace
}  // namespace skein::durable
