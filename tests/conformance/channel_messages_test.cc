// Messages arrive whole, in order, each once.
#include <cstring>
#include <random>

#include "tests/conformance/channel_conformance.h"
#include "tests/support/out_item.h"

namespace skein::channel {
namespace {

class ChannelMessages : public ChannelConformance {};

TEST_P(ChannelMessages, ArriveInBothDirections) {
  ASSERT_TRUE(a().Send("there").ok());
  ASSERT_TRUE(b().Send("and back").ok());
  EXPECT_EQ(Read(b()), "there");
  EXPECT_EQ(Read(a()), "and back");
}

TEST_P(ChannelMessages, KeepTheirItems) {
  const std::vector<std::string> payloads = {"one", "", std::string(3000, 'x'), "1234567", "12345678", "123456789"};
  ASSERT_TRUE(a().Send(payloads).ok());
  ASSERT_TRUE(a().Send("next").ok());
  for (const std::string& payload : payloads) EXPECT_TRUE(Reads(b(), payload));
  EXPECT_EQ(Read(b()), "next");
}

TEST_P(ChannelMessages, AreGatheredFromPieces) {
  const std::string text = Text(1000, 1);
  std::vector<absl::Span<const std::byte>> pieces;
  for (size_t at = 0; at < text.size(); at += 40) {
    pieces.push_back({reinterpret_cast<const std::byte*>(text.data()) + at, 40});
    pieces.emplace_back();
  }
  OutItem item;
  Carry(item, pieces);
  ASSERT_TRUE(a().channel->Lay({&item, 1}, Use::kData).ok());
  ASSERT_TRUE(a().Publish().ok());
  EXPECT_TRUE(Reads(b(), text));
}

TEST_P(ChannelMessages, CarryWhatLiesInTheMiddleOfTheirBuffers) {
  const std::string text = Text(1000, 1);
  const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
  const std::vector<absl::Span<const std::byte>> pieces = {{bytes, 300}, {}, {bytes + 300, 300}, {bytes + 600, 400}};
  for (const size_t offset : {0, 1, 299, 300, 301, 600, 999}) {
    for (const size_t size : {size_t{1}, size_t{2}, size_t{301}, 1000 - offset}) {
      if (offset + size > text.size()) continue;
      OutItem item;
      item.buffers = pieces;
      item.offset = offset;
      item.header.size = static_cast<uint32_t>(size);
      ASSERT_TRUE(a().channel->Lay({&item, 1}, Use::kData).ok());
      ASSERT_TRUE(a().Publish().ok());
      ASSERT_TRUE(Reads(b(), text.substr(offset, size))) << offset << ", " << size;
    }
  }
}

TEST_P(ChannelMessages, MayBeCopiedByTheOwnersOfTheirPayloads) {
  const std::string text = Text(777, 2);
  const absl::Span<const std::byte> part(reinterpret_cast<const std::byte*>(text.data()), text.size());
  std::vector<OutItem> items(3);
  for (OutItem& item : items) Carry(item, {&part, 1});
  items[1].leaves_copying = true;
  ASSERT_TRUE(a().channel->Lay(absl::MakeSpan(items), Use::kData).ok());
  ASSERT_NE(items[1].destination, nullptr);
  std::memcpy(items[1].destination, text.data(), text.size());
  ASSERT_TRUE(a().Publish().ok());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Reads(b(), text));
}

TEST_P(ChannelMessages, ThatAreLaidAndNotPublishedLeaveNoTrace) {
  const uint64_t written = a().channel->written();
  for (const size_t size : {10, 10'000, 1000}) ASSERT_TRUE(a().Lay({Text(size, 1)}).ok());
  EXPECT_EQ(a().channel->written(), written);
  Pump();
  EXPECT_TRUE(b().read.empty());
  ASSERT_TRUE(a().Lay({"this"}).ok());
  ASSERT_TRUE(a().Publish().ok());
  ASSERT_TRUE(a().Send("next").ok());
  EXPECT_EQ(Read(b()), "this");
  EXPECT_EQ(Read(b()), "next");
  Pump();
  EXPECT_TRUE(b().read.empty());
}

TEST_P(ChannelMessages, AreTheSameUntilTheyArePopped) {
  ASSERT_TRUE(a().Send("first").ok());
  ASSERT_TRUE(a().Send("second").ok());
  ASSERT_TRUE(Arrives(b()));
  for (int i = 0; i < 2; ++i) {
    const auto message = b().channel->Next().value();
    ASSERT_TRUE(message.has_value());
    EXPECT_EQ(message->items, 1u);
    EXPECT_EQ(message->walk().Next()->payload.size(), 5u);
  }
  EXPECT_EQ(Read(b()), "first");
  EXPECT_EQ(Read(b()), "second");
}

TEST_P(ChannelMessages, TellWhenTheyWerePosted) {
  ASSERT_TRUE(a().Lay({"timed"}).ok());
  ASSERT_TRUE(a().channel->Publish(12345678).ok());
  ASSERT_TRUE(Arrives(b()));
  const std::optional<InMessage> message = b().channel->Next().value();
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->stage_time, 12345678u);
}

TEST_P(ChannelMessages, AreCountedAtBothEnds) {
  const uint64_t before = a().channel->messages_written();
  const uint64_t read_before = b().channel->messages_read();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(a().Send(Text(100, i)).ok());
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Reads(b(), Text(100, i)));
  EXPECT_GE(a().channel->messages_written(), before + 10);
  EXPECT_GE(b().channel->messages_read(), read_before + 10);
  EXPECT_GT(a().channel->written(), 0u);
  EXPECT_LE(b().channel->bytes_read(), a().channel->written());
}

TEST_P(ChannelMessages, OfEverySizeArriveAtEveryPlace) {
  std::mt19937 random(20261128);
  struct Way {
    ChannelEnd& from;
    ChannelEnd& to;
    int sent = 0;
    int arrived = 0;
    std::deque<std::vector<std::string>> under_way = {};
  };
  Way ways[] = {{a(), b()}, {b(), a()}};
  for (int step = 0; step < 20'000; ++step) {
    Way& way = ways[random() % 2];
    std::vector<std::string> payloads(1 + random() % 3);
    for (std::string& payload : payloads) payload = Text(random() % (1 << (random() % 13)), way.sent++);
    if (way.from.Send(payloads).ok()) {
      for (const std::string& payload : payloads) way.under_way.push_back({payload});
    }
    if (random() % 4 == 0) channels().Settle();
    if (random() % 2 == 0) way.to.Poll(static_cast<int>(random() % 5));
    for (Way& each : ways) {
      ASSERT_TRUE(each.to.broken.ok()) << each.to.broken;
      for (; !each.to.read.empty(); each.to.read.pop_front(), ++each.arrived) {
        ASSERT_FALSE(each.under_way.empty());
        ASSERT_TRUE(each.to.read.front() == each.under_way.front()[0]) << each.arrived;
        each.under_way.pop_front();
      }
    }
  }
  for (Way& way : ways) {
    for (; !way.under_way.empty(); way.under_way.pop_front()) ASSERT_TRUE(Reads(way.to, way.under_way.front()[0]));
    EXPECT_GT(way.arrived, 1000);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ChannelMessages, EveryTransport(), TransportName);

}  // namespace
}  // namespace skein::channel
