// What a stream's own port refuses (data beyond its window, windows beyond all bounds, a second end) ends the link,
// too.
#include <string>

#include "gtest/gtest.h"
#include "tests/unit/link/hostile_stream.h"

namespace skein::link {
namespace {

using wire::ItemKind;

using HostileStreamsTest = HostileStream;

TEST_F(HostileStreamsTest, AsMuchDataAsTheWindowAllows) {
  Item(ItemKind::kData, std::string(kWindow, 'x'));
  ExpectAlive();
}

TEST_F(HostileStreamsTest, OneByteBeyondTheWindow) {
  Item(ItemKind::kData, std::string(kWindow, 'x'));
  Item(ItemKind::kData, "y");
  ExpectLost("more data than the window allows");
}

TEST_F(HostileStreamsTest, OneItemLargerThanTheWindow) {
  Item(ItemKind::kData, std::string(kWindow + 1, 'x'));
  ExpectLost("more data than the window allows");
}

// Having read, this end gives back as much as was read and not more.
TEST_F(HostileStreamsTest, MoreDataThanWasGivenBack) {
  Item(ItemKind::kData, std::string(kWindow, 'x'));
  ExpectAlive();
  ASSERT_TRUE(Read().ok());
  Item(ItemKind::kData, std::string(kWindow, 'x'));
  ExpectAlive();
  Item(ItemKind::kData, "y");
  ExpectLost("more data than the window allows");
}

TEST_F(HostileStreamsTest, EmptyData) {
  Item(ItemKind::kData, "");
  ExpectLost("an empty data item");
}

TEST_F(HostileStreamsTest, AWindowThatOverflows) {
  Item(ItemKind::kWindow, NumberPayload(1000));  // 999, if it were added
  Item(ItemKind::kWindow, NumberPayload(UINT64_MAX));
  ExpectLost("a window larger by 18446744073709551615 bytes");
}

TEST_F(HostileStreamsTest, WindowsThatAddUpToTooMuch) {
  Item(ItemKind::kWindow, NumberPayload(uint64_t{1} << 40));
  ExpectAlive();
  Item(ItemKind::kWindow, NumberPayload(1));
  ExpectLost("a window larger by 1 bytes");
}

TEST_F(HostileStreamsTest, ASecondOpen) {
  Item(ItemKind::kOpen, NumberPayload(1));
  ExpectLost("a stream opened twice");
}

TEST_F(HostileStreamsTest, ASecondClose) {
  Item(ItemKind::kCloseWrite);
  ExpectAlive();
  Item(ItemKind::kCloseWrite);
  ExpectLost("a stream closed twice");
}

TEST_F(HostileStreamsTest, DataAfterTheClose) {
  Item(ItemKind::kCloseWrite);
  Item(ItemKind::kData, "x");
  ExpectLost("data after its end");
}

TEST_F(HostileStreamsTest, TextThatWouldSpoilALog) {
  Item(ItemKind::kAbort, "a\nb\x1b" + std::string(1000, 'c'));
  ExpectAlive();
  const absl::Status end = Read();
  EXPECT_TRUE(absl::IsAborted(end)) << end;
  EXPECT_NE(end.message().find("a?b?ccc"), std::string::npos) << end;
  EXPECT_LT(end.message().size(), 300u);
}

TEST_F(HostileStreamsTest, StreamsWithoutEndThatOnlyThisEndCloses) {
  wire::Offer offer;
  offer.fabrics = {{"sim", "for no new link"}};
  ExpectAlive();
  for (size_t i = 0; i < Ports::kMostAbandoned + 100; ++i) {
    stream::Listener::Result result = listener_->Accept(wire::EncodeOffer(offer), {});
    ASSERT_NE(result.outcome.stream, nullptr);
    result.outcome.stream->CloseWrite();
    result.outcome.stream.reset();
    Poll();
  }
  EXPECT_EQ(stream_->link()->ports().size(), Ports::kMostAbandoned + 1);
  ExpectAlive();
}

// Each stream that ends here leaves the peer a word, and it takes none.
TEST_F(HostileStreamsTest, StreamsWithoutEndWhoseEndsNobodyReads) {
  wire::Offer offer;
  offer.fabrics = {{"sim", "for no new link"}};
  ExpectAlive();
  int streams = 0;
  for (; streams < 40'000 && !waiter_.source->finished(); ++streams) {
    const stream::Listener::Result result = listener_->Accept(wire::EncodeOffer(offer), {});
    if (result.outcome.stream == nullptr) break;
  }
  EXPECT_GT(streams, 10'000) << "as many as one host may have at once";
  ExpectLost("the peer has left 32768 items unread");
}

}  // namespace
}  // namespace skein::link
