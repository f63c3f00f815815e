// What a RingReader takes for a message, and what it says of a writer that breaks the format.
#include <cstring>
#include <string>
#include <vector>

#include "core/channel/ring/ring_reader.h"
#include "gtest/gtest.h"
#include "tests/support/raw_message.h"
#include "tests/support/ring_message.h"
#include "tests/unit/channel_ring/plain_fabric.h"

namespace skein::channel {
namespace {

class RingReaderTest : public testing::Test {
 protected:
  static constexpr size_t kRing = 1024;

  std::byte* at(size_t offset) { return reinterpret_cast<std::byte*>(words_.data()) + offset; }
  void Put(size_t offset, absl::string_view bytes) {
    ASSERT_LE(offset + bytes.size(), kRing);
    std::memcpy(at(offset), bytes.data(), bytes.size());
  }
  void PutWord(size_t offset, uint64_t word) { std::memcpy(at(offset), &word, sizeof(word)); }
  static std::string Data(uint64_t n, absl::string_view payload) {
    return wire::RawMessage(kRingSecret, n, 1, wire::RawItem(wire::ItemKind::kData, 1, 0, payload));
  }
  static std::string Wrap(uint64_t n) {
    wire::MessageHeader header;
    header.items = wire::kWrap;
    return wire::RawMessage(kRingSecret, n, header);
  }

  // The payload of the next message's first item; "nothing" or "error" otherwise.
  std::string Take() {
    const absl::StatusOr<std::optional<Message>> next = reader_.Next();
    if (!next.ok()) return absl::IsDataLoss(next.status()) ? "error" : next.status().ToString();
    if (!next->has_value()) return "nothing";
    const Message& message = **next;
    std::string text = "empty";
    if (message.header.items > 0 && !message.wraps()) {
      wire::ItemWalk items = ItemsOf(message);
      const wire::Item item = items.Next().value();
      text.assign(reinterpret_cast<const char*>(item.payload.data()), item.payload.size());
    }
    reader_.Pop();
    return text;
  }

 private:
  std::vector<uint64_t> words_ = std::vector<uint64_t>(kRing / 8);  // exactly sized, on the heap

 protected:
  RingReader reader_{absl::MakeConstSpan(at(0), kRing), kRingSecret};
};

TEST_F(RingReaderTest, ANewRingHoldsNothing) {
  EXPECT_EQ(Take(), "nothing");
  EXPECT_EQ(reader_.head(), 0u);
}

TEST_F(RingReaderTest, GivesMessagesInTheOrderOfTheRing) {
  const std::string first = Data(0, "first");
  Put(0, first);
  Put(first.size(), Data(1, "second"));
  EXPECT_EQ(Take(), "first");
  EXPECT_EQ(reader_.head(), first.size());
  EXPECT_EQ(Take(), "second");
  EXPECT_EQ(Take(), "nothing");
}

TEST_F(RingReaderTest, NextIsTheSameUntilPop) {
  Put(0, Data(0, "once"));
  const absl::StatusOr<std::optional<Message>> first = reader_.Next();
  const absl::StatusOr<std::optional<Message>> again = reader_.Next();
  ASSERT_TRUE(first.ok() && first->has_value() && again.ok() && again->has_value());
  EXPECT_EQ((*first)->area.data(), (*again)->area.data());
  EXPECT_EQ(reader_.head(), 0u);
}

TEST_F(RingReaderTest, GoesToTheStartAfterAWrap) {
  Put(0, Data(0, std::string(700, 'a')));
  EXPECT_EQ(Take(), std::string(700, 'a'));
  Put(reader_.head(), Wrap(1));
  Put(0, Data(2, "at the start"));
  EXPECT_EQ(Take(), "empty");
  EXPECT_EQ(reader_.head(), kRing);
  EXPECT_EQ(Take(), "at the start");
  EXPECT_GT(reader_.head(), kRing);
}

TEST_F(RingReaderTest, AMessageMayEndExactlyWhereTheRingDoes) {
  const std::string message = Data(0, std::string(kRing - 24 - 16 - 8, 'x'));
  ASSERT_EQ(message.size(), kRing);
  Put(0, message);
  EXPECT_EQ(Take().size(), kRing - 48);
  EXPECT_EQ(reader_.head(), kRing);
  EXPECT_EQ(Take(), "nothing");
}

TEST_F(RingReaderTest, AMessageWithoutItsTailCanaryHasNotArrived) {
  const std::string message = Data(0, "torn");
  for (size_t size = 0; size < message.size(); size += 8) {
    Put(0, message.substr(0, size));
    EXPECT_EQ(Take(), "nothing") << size;
  }
  Put(0, message);
  EXPECT_EQ(Take(), "torn");
}

TEST_F(RingReaderTest, AMessageWithoutItsHeadCanaryHasNotArrived) {
  const std::string message = Data(0, "late head");
  Put(0, message);
  PutWord(0, 0);
  EXPECT_EQ(Take(), "nothing");
  Put(0, message);
  EXPECT_EQ(Take(), "late head");
}

TEST_F(RingReaderTest, WrongCanariesAreNoMessage) {
  Put(0, wire::RawMessage(kRingSecret + 1, 0, 0, ""));
  EXPECT_EQ(Take(), "nothing");
  std::string wrong_tail = Data(0, "x");
  wrong_tail.back() = static_cast<char>(wrong_tail.back() ^ 1);
  Put(0, wrong_tail);
  EXPECT_EQ(Take(), "nothing");
}

TEST_F(RingReaderTest, AReplayedMessageIsNotTakenAgain) {
  const std::string first = Data(0, "first");
  Put(0, first);
  EXPECT_EQ(Take(), "first");
  Put(reader_.head(), first);
  EXPECT_EQ(Take(), "nothing");
  Put(reader_.head(), Data(2, "one too far"));
  EXPECT_EQ(Take(), "nothing");
  Put(reader_.head(), Data(1, "second"));
  EXPECT_EQ(Take(), "second");
}

TEST_F(RingReaderTest, WhatAnEarlierRoundLeftIsNotTakenAgain) {
  Put(0, Data(0, "old"));
  EXPECT_EQ(Take(), "old");
  Put(64, Data(1, std::string(800, 'x')));
  EXPECT_EQ(Take().size(), 800u);
  Put(reader_.head(), Wrap(2));
  EXPECT_EQ(Take(), "empty");
  EXPECT_EQ(Take(), "nothing");  // though "old" still lies here
}

// Of a message that is still landing, the canary may be there before the length: that is still what lay there before.
TEST_F(RingReaderTest, ALengthBeyondTheRingHasNotArrived) {
  const wire::Canaries canaries(kRingSecret);
  PutWord(0, canaries.HeadWord(0, kRing + 64));
  EXPECT_EQ(Take(), "nothing");
  PutWord(0, canaries.HeadWord(0, size_t{0xffff} * 64));
  EXPECT_EQ(Take(), "nothing");
  Put(0, Data(0, "fits"));
  EXPECT_EQ(Take(), "fits");
  PutWord(reader_.head(), canaries.HeadWord(1, kRing));  // as long as the ring, but not from its start
  EXPECT_EQ(Take(), "nothing");
}

TEST_F(RingReaderTest, ALengthOfZeroIsNoMessage) {
  std::string message = Data(0, "none");
  Put(0, message);
  PutWord(0, wire::Canaries(kRingSecret).HeadWord(0, 0));
  EXPECT_EQ(Take(), "nothing");
}

// The words that tell a length are looked up where it ends: anything may stand there but the tail canary.
TEST_F(RingReaderTest, AShorterLengthFindsNoTailCanary) {
  const std::string message = Data(0, std::string(300, 'x'));
  Put(0, message);
  PutWord(0, wire::Canaries(kRingSecret).HeadWord(0, message.size() - 64));
  EXPECT_EQ(Take(), "nothing");
}

TEST_F(RingReaderTest, HeadersOutsideTheFormatAreErrors) {
  const auto with = [&](auto set, absl::string_view items = {}) {
    wire::MessageHeader header;
    set(header);
    Put(0, wire::RawMessage(kRingSecret, 0, header, items));
    return RingReader(absl::MakeConstSpan(at(0), kRing), kRingSecret).Next().status().code();
  };
  EXPECT_EQ(with([](auto&) {}), absl::StatusCode::kOk);
  EXPECT_EQ(with([](auto& header) { header.items = wire::kWrap; }), absl::StatusCode::kOk);
  EXPECT_EQ(with([](auto& header) { header.seen = ~uint32_t{0}; }), absl::StatusCode::kOk) << "a peer's word";
  EXPECT_EQ(with([](auto& header) { header.stage_time = ~uint64_t{0}; }), absl::StatusCode::kOk) << "a peer's word";
  EXPECT_EQ(with([](auto& header) { header.items = wire::kWrap; }, std::string(64, '\0')), absl::StatusCode::kDataLoss);
}

// The reader's copy is what counts: the writer may still change the ring.
TEST_F(RingReaderTest, AHeaderChangedAfterTheLookChangesNothing) {
  Put(0, Data(0, "as it was"));
  const Message message = *reader_.Next().value();
  PutWord(0, UINT64_MAX);
  PutWord(8, UINT64_MAX);
  EXPECT_EQ(message.header.items, 1u);
  reader_.Pop();
  EXPECT_EQ(reader_.head(), 64u);
}

}  // namespace
}  // namespace skein::channel
