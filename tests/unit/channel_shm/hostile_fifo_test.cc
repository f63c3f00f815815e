// Whatever a peer writes into the memory that both share, this end stays within it, and says what was wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/channel_shm/fifo_ends.h"

namespace skein::channel::shm {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

void PutHeader(FifoEnds& ends, size_t offset, const MessageHeader& header) {
  std::memcpy(ends.data() + offset, &header, sizeof(header));
}

TEST(HostileFifo, PositionsThatNoWriterPublishes) {
  for (const uint64_t published :
       {uint64_t{1}, uint64_t{63}, uint64_t{kFifoBytes + kUnit}, ~uint64_t{0}, ~uint64_t{63}}) {
    FifoEnds ends;
    ends.published = published;
    EXPECT_TRUE(ends.reader.Readable());
    EXPECT_THAT(ends.Peek(), StartsWith("DATA_LOSS: the peer has published")) << published;
    ends.published = kUnit;
    EXPECT_THAT(ends.Peek(), StartsWith("DATA_LOSS")) << "for ever";
  }
}

TEST(HostileFifo, PositionsThatGoBack) {
  FifoEnds ends;
  ASSERT_TRUE(ends.Write("one").ok());
  ASSERT_TRUE(ends.Write("two").ok());
  EXPECT_EQ(ends.Read(), "one");
  EXPECT_EQ(ends.Read(), "two");
  ends.published = kUnit;
  EXPECT_THAT(ends.Peek(), StartsWith("DATA_LOSS"));
}

TEST(HostileFifo, SizesThatAreNotThere) {
  for (const uint32_t bytes : {uint32_t{49}, uint32_t{64}, uint32_t{kFifoBytes}, kMarker - 1, uint32_t{1} << 31}) {
    FifoEnds ends;
    PutHeader(ends, 0, {bytes, 1, 0});
    ends.published = kUnit;
    EXPECT_THAT(ends.Peek(), HasSubstr("where there are 64")) << bytes;
  }
}

TEST(HostileFifo, AMessageOfNoItems) {
  FifoEnds ends;
  PutHeader(ends, 0, {16, 0, 0});
  ends.published = kUnit;
  EXPECT_THAT(ends.Peek(), HasSubstr("a message of 0 items"));
}

TEST(HostileFifo, MoreItemsThanFit) {
  FifoEnds ends;
  const std::string text = "text";
  ASSERT_TRUE(ends.Lay(text).ok());
  ends.Publish();
  const uint32_t items = 1'000'000;
  std::memcpy(ends.data() + offsetof(MessageHeader, items), &items, sizeof(items));
  EXPECT_THAT(ends.Peek(), HasSubstr("a message ends inside an item's header"));
}

TEST(HostileFifo, MessagesThatGoBeyondTheEnd) {
  // Up to the last unit but one, by honest messages; what follows leaves no place for a marker.
  FifoEnds ends(kFifoBytes, kFifoBytes);
  for (size_t at = 0; at + 2 * kUnit < kFifoBytes; at += kUnit) {
    PutHeader(ends, at, {16, 1, 0});
    std::memset(ends.data() + at + sizeof(MessageHeader), 0, kUnit - sizeof(MessageHeader));
    ends.published = at + kUnit;
    ASSERT_TRUE(ends.reader.Look().ok()) << at;
    ends.reader.Pop();
  }
  const size_t at = kFifoBytes - 2 * kUnit;
  PutHeader(ends, at, {kUnit, 1, 0});
  ends.published = at + 4 * kUnit;
  EXPECT_THAT(ends.Peek(), StartsWith("DATA_LOSS"));
}

TEST(HostileFifo, MarkersWithoutEnd) {
  FifoEnds ends;
  PutHeader(ends, 0, {kMarker, 0, 0});
  ends.published = 10 * kUnit;
  EXPECT_THAT(ends.Peek(), HasSubstr("a marker without a message")) << "at the beginning";

  FifoEnds others;
  ASSERT_TRUE(others.Write("one").ok());
  EXPECT_EQ(others.Read(), "one");
  PutHeader(others, kUnit, {kMarker, 0, 0});
  others.published = 2 * kUnit;
  EXPECT_THAT(others.Peek(), HasSubstr("a marker without a message")) << "and nothing behind it";
}

TEST(HostileFifo, AMarkerThatLeadsToAMarker) {
  FifoEnds ends;
  ASSERT_TRUE(ends.Write("one").ok());
  EXPECT_EQ(ends.Read(), "one");
  PutHeader(ends, 0, {kMarker, 0, 0});
  PutHeader(ends, kUnit, {kMarker, 0, 0});
  ends.published = 3 * kUnit;
  EXPECT_THAT(ends.Peek(), StartsWith("DATA_LOSS"));
}

TEST(HostileFifo, ConsumedThatNoReaderHas) {
  for (const uint64_t consumed : {uint64_t{1}, uint64_t{2 * kUnit + 1}, uint64_t{4 * kUnit}, ~uint64_t{63}}) {
    FifoEnds ends;
    ASSERT_TRUE(ends.Write("one").ok());
    ASSERT_TRUE(ends.Write("two").ok());
    EXPECT_EQ(ends.Read(), "one");
    ends.writer.Refresh();
    EXPECT_FALSE(ends.writer.broken());
    ends.consumed = consumed;
    ends.writer.Refresh();
    EXPECT_TRUE(ends.writer.broken()) << consumed;
    EXPECT_EQ(ends.writer.Space(0), 0u);
  }
  FifoEnds ends;
  ASSERT_TRUE(ends.Write("one").ok());
  EXPECT_EQ(ends.Read(), "one");
  ends.writer.Refresh();
  ends.consumed = 0;
  ends.writer.Refresh();
  EXPECT_TRUE(ends.writer.broken()) << "it went back";
}

// A reader that says it has read what it has not: it loses messages, and the writer stays within the FIFO.
TEST(HostileFifo, ConsumedTooEarly) {
  for (uint64_t ahead = kUnit; ahead < kFifoBytes; ahead += 7 * kUnit) {
    FifoEnds ends(kFifoBytes, kFirstBytes);
    for (int i = 0; i < 500; ++i) {
      if (!ends.Write(std::string(i * 37 % 3000, 'x')).ok()) {
        ends.consumed = std::min(ends.consumed + ahead, ends.writer.position());
      }
    }
    EXPECT_FALSE(ends.writer.broken());
  }
}

}  // namespace
}  // namespace skein::channel::shm
