// A receiver and an honest sender where their sequences meet what an earlier life has left.
#include "core/durable/flush/flush_receiver.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/durable/flush/flush_sender.h"
#include "core/fabric/sim/simulation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/durable/crashing_memory.h"

namespace skein::durable {
namespace {

using testing::ElementsAre;

class FlushReceiverTest : public testing::Test {
 protected:
  static constexpr RingShape kShape{.slot_bytes = 128, .slots = 4};

  void Connect(FlushMode mode, bool mapped = true) {
    sender_.reset();
    receiver_.reset();
    FlushReceiverOptions receiver_options;
    receiver_options.mode = mode;
    receiver_options.shape = kShape;
    receiver_options.slow_down_above = 2;
    receiver_ = FlushReceiver::Open(*receiving_, memory_->Open(mapped), receiver_options).value();
    FlushSenderOptions sender_options;
    sender_options.mode = mode;
    sender_options.slots = kShape.slots;
    sender_ = FlushSender::Create(*sending_, sender_options).value();
    ASSERT_TRUE(sender_->Complete(receiver_->Accept(sender_->Offer().value()).value()).ok());
  }
  void Send() {
    ASSERT_TRUE(sender_->Send(absl::StrCat("request ", sender_->next())).ok());
    ASSERT_TRUE(sender_->Flush().ok());
    simulation_.RunUntilIdle();
  }
  // All that was sent is taken, and all but `keep` of them finished.
  void Poll(size_t keep = 0) {
    const absl::Status received = receiver_->Poll([this](const FlushEntry& entry) {
      EXPECT_EQ(entry.payload, absl::StrCat("request ", entry.sequence));
      requests_.push_back(entry.sequence);
      open_.push_back(entry.sequence);
    });
    ASSERT_TRUE(received.ok()) << received;
    for (; open_.size() > keep; open_.erase(open_.begin())) ASSERT_TRUE(receiver_->Finish(open_.front(), "reply").ok());
    ASSERT_TRUE(receiver_->Poll([](const FlushEntry&) { ADD_FAILURE() << "again"; }).ok());
    simulation_.RunUntilIdle();
    const absl::Status replied = sender_->Poll(
        [this](uint64_t sequence, absl::string_view reply) { replies_.push_back(absl::StrCat(sequence, reply)); });
    ASSERT_TRUE(replied.ok()) << replied;
  }

  fabric::Simulation simulation_{1};
  const std::shared_ptr<fabric::Device> sending_ = simulation_.CreateDevice("s");
  const std::shared_ptr<fabric::Device> receiving_ = simulation_.CreateDevice("r");
  const std::shared_ptr<CrashingMemory> memory_ = std::make_shared<CrashingMemory>(StorageBytes(kShape));
  std::unique_ptr<FlushReceiver> receiver_;
  std::unique_ptr<FlushSender> sender_;
  std::vector<uint64_t> requests_;
  std::vector<uint64_t> open_;  // of these, not finished
  std::vector<std::string> replies_;
};

TEST_F(FlushReceiverTest, NothingIsUnfinishedWhereALostRequestComesAgainBeforeThoseThatWereFinished) {
  {
    std::vector<FlushEntry> none;
    const auto ring = FlushRing::Open(memory_->Open(), kShape, HeaderPlace::kLast, none).value();
    ring->Take(4);  // the power cut takes 1, which no READ has pushed out; the marks behind it are safe
    ASSERT_TRUE(ring->Finish(std::vector<uint64_t>{2, 3}).ok());
  }
  memory_->LosePower();
  Connect(FlushMode::kWFlush);
  EXPECT_EQ(sender_->next(), 1u);
  Send();
  Poll();
  EXPECT_EQ(receiver_->unfinished(), 0u);
  EXPECT_FALSE(sender_->slow_down());
  Send();
  Send();
  Poll();
  EXPECT_THAT(requests_, ElementsAre(1));
  EXPECT_THAT(replies_, ElementsAre("1reply", "2", "3"));
  Send();
  Poll();
  EXPECT_THAT(requests_, ElementsAre(1, 4));
  EXPECT_EQ(sender_->finished(), 4u);
}

// A blank word is that of sequence 2^32.
class BlankWordTest : public FlushReceiverTest, public testing::WithParamInterface<bool> {
 protected:
  static constexpr uint64_t kFirst = (uint64_t{1} << 32) - kShape.slots;
  static constexpr uint64_t kLast = (uint64_t{1} << 32) + kShape.slots;

  // All before kFirst are finished.
  void SetUp() override {
    std::vector<FlushEntry> none;
    ASSERT_TRUE(FlushRing::Open(memory_->Open(), kShape, HeaderPlace::kLast, none).ok());
    for (uint64_t mark = kFirst - kShape.slots; mark < kFirst; ++mark) {
      std::memcpy(memory_->bytes() + MarkOffset(SlotOf(kShape, mark)), &mark, sizeof(mark));
    }
  }
  void Restart() {
    open_.clear();
    Connect(FlushMode::kWRFlush, GetParam());
    Poll();
  }
};

TEST_P(BlankWordTest, IsNotTakenForARequestInALifeThatBeginsBeforeIt) {
  for (uint64_t sequence = kFirst; sequence <= kLast; ++sequence) {
    Restart();
    ASSERT_EQ(sender_->next(), sequence);
    Send();
    Poll(/*keep=*/1);
    EXPECT_EQ(requests_.back(), sequence);
  }
}

TEST_P(BlankWordTest, IsNotTakenForARequestWhereOneWasLeftALapBefore) {
  Restart();
  Send();
  Poll(/*keep=*/1);
  Restart();
  for (uint64_t sequence = kFirst + 1; sequence <= kLast; ++sequence) {
    Send();
    Poll();
    EXPECT_EQ(requests_.back(), sequence);
  }
}

INSTANTIATE_TEST_SUITE_P(Places, BlankWordTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "mapped" : "copied"; });

}  // namespace
}  // namespace skein::durable
