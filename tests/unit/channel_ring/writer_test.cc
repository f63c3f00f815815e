// What a RingWriter writes a RingReader reads, in rings that are full, wrapped, or whose reader lies about them.
#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>

#include "core/channel/ring/handover.h"
#include "core/channel/ring/ring_reader.h"
#include "core/channel/ring/ring_writer.h"
#include "gtest/gtest.h"
#include "tests/support/out_item.h"
#include "tests/support/ring_message.h"
#include "tests/unit/channel_ring/plain_fabric.h"

namespace skein::channel {
namespace {

class RingWriterTest : public testing::Test {
 protected:
  static constexpr size_t kRing = wire::kRingGranule;

  absl::Status Write(absl::string_view text, Reserve reserve = Reserve::kData, bool signaled = false) {
    OutItem item;
    item.header.stream = 1;
    const absl::Span<const std::byte> part(reinterpret_cast<const std::byte*>(text.data()), text.size());
    Carry(item, {&part, 1});
    return channel::Write(*writer_, {&item, 1}, reserve, {.signaled = signaled});
  }
  // The text of the next message, wraps skipped.
  std::string Read() {
    for (;;) {
      const absl::StatusOr<std::optional<Message>> next = reader_.Next();
      if (!next.ok()) return next.status().ToString();
      if (!next->has_value()) return "nothing";
      const Message message = **next;
      std::string text;
      for (wire::ItemWalk items = ItemsOf(message); !items.done();) {
        const wire::Item item = items.Next().value();
        text.append(reinterpret_cast<const char*>(item.payload.data()), item.payload.size());
      }
      reader_.Pop();
      if (message.header.items != wire::kWrap) return text;
    }
  }
  absl::Status TellHead() { return writer_->SetPeerHead(reader_.head()); }
  // Writes until nothing more fits; returns how many.
  int Fill(Reserve reserve, size_t size) {
    int count = 0;
    while (Write(std::string(size, 'f'), reserve).ok()) ++count;
    return count;
  }

  PlainDevice device_;
  PlainMemory memory_{kRing + wire::kControlBytes};
  PlainQueuePair queue_pair_{memory_.bytes()};
  RingReader reader_{memory_.bytes().first(kRing), kRingSecret};
  std::unique_ptr<RingWriter> writer_ =
      RingWriter::Create(device_, queue_pair_, {kRingAddress, kRing, kRingSecret, kRingKey}).value();
};

TEST_F(RingWriterTest, TheReaderReadsWhatWasWritten) {
  ASSERT_TRUE(Write("hello").ok());
  ASSERT_TRUE(Write("").ok());
  ASSERT_TRUE(Write(std::string(5000, 'x')).ok());
  EXPECT_EQ(Read(), "hello");
  EXPECT_EQ(Read(), "");
  EXPECT_EQ(Read(), std::string(5000, 'x'));
  EXPECT_EQ(Read(), "nothing");
}

TEST_F(RingWriterTest, ItemsAreGatheredFromTheirParts) {
  const std::string large(1000, 'l');
  const absl::Span<const std::byte> parts[] = {
      {reinterpret_cast<const std::byte*>("ab"), 2}, {}, {reinterpret_cast<const std::byte*>(large.data()), 1000}};
  OutItem items[2];
  Carry(items[0], parts);
  items[0].header.stream = 3;
  Carry(items[1], absl::MakeSpan(parts).first(1));
  ASSERT_TRUE(channel::Write(*writer_, items, Reserve::kData).ok());
  const Message message = *reader_.Next().value();
  EXPECT_EQ(message.header.items, 2u);
  wire::ItemWalk walk = ItemsOf(message);
  const wire::Item first = walk.Next().value();
  EXPECT_EQ(first.header.stream, 3u);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(first.payload.data()), first.payload.size()), "ab" + large);
  EXPECT_EQ(walk.Next().value().payload.size(), 2u);
}

TEST_F(RingWriterTest, ManyRoundsOfAllSizesComeThroughInOrder) {
  std::mt19937 random(7);
  uint64_t written = 0;
  for (int i = 0; i < 3000; ++i) {
    const size_t space = writer_->Space(Reserve::kData);
    ASSERT_GT(space, 1000u) << i;
    const std::string text(random() % (std::min<size_t>(space, 16'000) - sizeof(wire::ItemHeader) - 8),
                           static_cast<char>('a' + i % 26));
    ASSERT_TRUE(Write(text).ok()) << i;
    written += text.size();
    ASSERT_EQ(Read(), text) << i;
    ASSERT_TRUE(TellHead().ok()) << i;
  }
  EXPECT_GT(written, 100 * kRing);
}

TEST_F(RingWriterTest, SpaceIsExactlyWhatFits) {
  std::mt19937 random(8);
  for (int i = 0; i < 500; ++i) {
    const size_t space = writer_->Space(Reserve::kData);
    ASSERT_GE(space, sizeof(wire::ItemHeader)) << i;
    const size_t most = (space - sizeof(wire::ItemHeader)) & ~size_t{7};
    ASSERT_EQ(Write(std::string(most + 1, 'x')).code(), absl::StatusCode::kResourceExhausted) << i;
    ASSERT_TRUE(Write(std::string(most, 'x')).ok()) << i;
    ASSERT_TRUE(Write(std::string(random() % 200, 'y'), Reserve::kControl).ok()) << i;
    Read();
    Read();
    ASSERT_TRUE(TellHead().ok()) << i;
  }
}

TEST_F(RingWriterTest, AFullRingRefusesAndIsNotOverwritten) {
  const int count = Fill(Reserve::kControl, 8);
  EXPECT_EQ(count, static_cast<int>(kRing / 64));
  EXPECT_EQ(writer_->Space(Reserve::kControl), 0u);
  for (int i = 0; i < count; ++i) ASSERT_EQ(Read(), std::string(8, 'f')) << i;
  EXPECT_EQ(Read(), "nothing");
  EXPECT_EQ(Write("x", Reserve::kControl).code(), absl::StatusCode::kResourceExhausted);  // nobody has told the head
  ASSERT_TRUE(TellHead().ok());
  EXPECT_TRUE(Write("space again").ok());
  EXPECT_EQ(Read(), "space again");
}

TEST_F(RingWriterTest, TheReserveIsKeptFromData) {
  ASSERT_GT(Fill(Reserve::kData, 8), 0);
  EXPECT_EQ(writer_->Space(Reserve::kData), 0u);
  const int control = Fill(Reserve::kControl, 8);
  EXPECT_EQ(control, 4096 / 64);
  EXPECT_EQ(writer_->Space(Reserve::kControl), 0u);
}

TEST_F(RingWriterTest, ALargeMessageLeavesTheReserve) {
  constexpr size_t kEighth = kRing / 8 - 48;
  EXPECT_EQ(Fill(Reserve::kData, kEighth), 7);
  EXPECT_EQ(writer_->Space(Reserve::kData), kRing / 8 - 4096 - 32);
  EXPECT_EQ(Fill(Reserve::kControl, kEighth), 1);
}

// Near the ring's end, what does not fit before it needs space after it, too.
TEST_F(RingWriterTest, AWrapNeedsItsSpaceAtTheStart) {
  while (writer_->Space(Reserve::kControl) > 1000) ASSERT_TRUE(Write(std::string(900, 'x'), Reserve::kControl).ok());
  const size_t before = writer_->Space(Reserve::kControl);
  Read();
  ASSERT_TRUE(TellHead().ok());  // 960 bytes are free at the start now, fewer at the end
  ASSERT_LT(before, 900u);
  EXPECT_TRUE(Write(std::string(900, 'w'), Reserve::kControl).ok());
  EXPECT_EQ(Write(std::string(900, 'w'), Reserve::kControl).code(), absl::StatusCode::kResourceExhausted);
  while (reader_.head() < kRing - 960) ASSERT_EQ(Read(), std::string(900, 'x'));
  EXPECT_EQ(Read(), std::string(900, 'w'));
  EXPECT_GE(reader_.head(), kRing);
}

TEST_F(RingWriterTest, ARefusedPostChangesNothing) {
  queue_pair_.full = true;
  EXPECT_EQ(Write("lost?").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(writer_->posted(), 0u);
  queue_pair_.full = false;
  ASSERT_TRUE(Write("found").ok());
  EXPECT_EQ(Read(), "found");
}

TEST_F(RingWriterTest, APeersHeadGoesForwardsAndNoFurtherThanItsMessages) {
  ASSERT_TRUE(Write("one").ok());
  EXPECT_TRUE(absl::IsDataLoss(writer_->SetPeerHead(128)));
  EXPECT_TRUE(absl::IsDataLoss(writer_->SetPeerHead(UINT64_MAX)));
  EXPECT_TRUE(writer_->SetPeerHead(0).ok());
  EXPECT_TRUE(writer_->SetPeerHead(64).ok());
  EXPECT_TRUE(writer_->SetPeerHead(64).ok());
  EXPECT_TRUE(absl::IsDataLoss(writer_->SetPeerHead(0)));
  EXPECT_TRUE(absl::IsDataLoss(writer_->SetPeerHead(63)));
}

TEST_F(RingWriterTest, ALiarsHeadDoesNotMakeSpace) {
  Fill(Reserve::kControl, 8);
  EXPECT_FALSE(writer_->SetPeerHead(kRing + 64).ok());
  EXPECT_EQ(writer_->Space(Reserve::kControl), 0u);
}

TEST_F(RingWriterTest, IdsCountMessagesAndSomeComplete) {
  ASSERT_TRUE(Write("asked for", Reserve::kData, /*signaled=*/true).ok());
  EXPECT_TRUE(queue_pair_.posted.back().signaled);
  EXPECT_EQ(queue_pair_.posted.back().id, 1u);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(Write("unasked").ok());
  const auto signaled = std::count_if(queue_pair_.posted.begin() + 1, queue_pair_.posted.end(),
                                      [](const auto& request) { return request.signaled; });
  EXPECT_EQ(signaled, 2);  // every sixteenth
  EXPECT_EQ(queue_pair_.posted.back().id, 41u);
  EXPECT_EQ(writer_->posted(), 41u);
}

// Behind the ring, and in front of the message that goes with it.
TEST_F(RingWriterTest, WhatAnEndSaysOfItselfLandsBehindTheRing) {
  PeerControl peer(reinterpret_cast<uint64_t*>(memory_.bytes().data() + kRing), kRingSecret);
  EXPECT_FALSE(peer.news());
  wire::Control control{.consumed = 64, .wanted = 128, .answers = 3, .refills = 2, .open = true};
  ASSERT_TRUE(writer_->Say(control, {.rings = false}).ok());
  EXPECT_EQ(queue_pair_.posted.back().opcode, fabric::Opcode::kWrite);
  EXPECT_TRUE(peer.news());
  EXPECT_EQ(peer.Look(/*heeds=*/false)->value(), control);
  EXPECT_FALSE(peer.Look(/*heeds=*/false)->has_value()) << "the same";
  EXPECT_TRUE(peer.news()) << "nobody has heeded it";
  EXPECT_FALSE(peer.Look(/*heeds=*/true)->has_value());
  EXPECT_FALSE(peer.news());
  EXPECT_EQ(Read(), "nothing");

  control.presence = wire::Presence::kAwake;
  OutItem item;
  ASSERT_TRUE(writer_->Lay({&item, 1}, Reserve::kData).ok());
  ASSERT_TRUE(writer_->Post({}, &control).ok());
  ASSERT_EQ(queue_pair_.posted.size(), 3u);
  EXPECT_EQ(queue_pair_.posted[1].remote.address, kRingAddress + kRing);
  EXPECT_EQ(queue_pair_.posted[1].opcode, fabric::Opcode::kWrite) << "the message rings for both";
  EXPECT_EQ(peer.Look(/*heeds=*/true)->value(), control);
  EXPECT_EQ(Read(), "");
}

// A device may read late what was posted: no line is put together where another one waits to be read.
TEST_F(RingWriterTest, EachLineThatMayBeUnderWayHasItsPlace) {
  std::set<const std::byte*> places;
  queue_pair_.on_post = [&](const fabric::SendRequest& request) { places.insert(request.local[0].data); };
  for (uint32_t i = 0; i < kSends; ++i) ASSERT_TRUE(writer_->Say({.consumed = i}, {}).ok());
  EXPECT_EQ(places.size(), kSends);
}

TEST_F(RingWriterTest, LinesCompleteAsMessagesDo) {
  for (int i = 0; i < 32; ++i) ASSERT_TRUE(writer_->Say({}, {}).ok());
  EXPECT_EQ(std::count_if(queue_pair_.posted.begin(), queue_pair_.posted.end(),
                          [](const auto& request) { return request.signaled; }),
            2);
  queue_pair_.full = true;
  EXPECT_TRUE(absl::IsResourceExhausted(writer_->Say({}, {})));
}

TEST_F(RingWriterTest, ARingTooLargeForItsStagingBufferIsRefused) {
  const wire::RingDescriptor ring{kRingAddress, kRing, kRingSecret, kRingKey};
  const absl::Status status = RingWriter::Create(device_, queue_pair_, ring, /*max_staging_bytes=*/kRing - 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_TRUE(RingWriter::Create(device_, queue_pair_, ring, /*max_staging_bytes=*/kRing).ok());
}

}  // namespace
}  // namespace skein::channel
