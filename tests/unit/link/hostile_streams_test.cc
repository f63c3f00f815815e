// What a stream's own port refuses (data beyond its window, windows beyond all bounds, a second end) ends the link,
// too.
#include <memory>
#include <string>
#include <vector>

#include "core/stream/connector.h"
#include "core/wire/negotiation.h"
#include "gtest/gtest.h"
#include "tests/unit/link/hostile_peer.h"

namespace skein::link {
namespace {

using wire::ItemKind;

class OneSource final : public progress::Waiter {
 public:
  void Watch(std::shared_ptr<progress::Source> given) override { source = std::move(given); }
  std::shared_ptr<progress::Source> source;
};

class HostileStreamsTest : public testing::Test {
 protected:
  static constexpr size_t kWindow = 1000;

  HostileStreamsTest() {
    // As the adapter would: a true negotiation, whose other side is the hostile peer.
    wire::Offer offer;
    offer.fabrics = {{"sim", peer_.Offer()}};
    stream::Listener::Result result = listener_->Accept(wire::EncodeOffer(offer), {});
    const wire::Yes yes = std::get<wire::Yes>(wire::DecodeAnswer(result.answer).value());
    stream_ = result.outcome.stream;
    EXPECT_EQ(yes.stream, 1u);
    peer_.Attach(yes.new_link.ring, yes.new_link.queue_pair);
    peer_.WriteItem(peer_.Hello());
    Item(ItemKind::kOpen, NumberPayload(0));
  }
  void Item(ItemKind kind, absl::string_view payload = {}) { peer_.WriteItem(kind, 1, sequence_++, payload); }
  void Poll() {
    do {
      simulation_.RunUntilIdle();
    } while (waiter_.source->Poll());
  }
  // Reads all there is; the status that ended it.
  absl::Status Read() {
    for (;;) {
      std::vector<stream::Buffer> buffers;
      absl::Status status = stream_->Read(1 << 20, buffers);
      if (!status.ok() || buffers.empty()) return status;
    }
  }
  void ExpectLost(absl::string_view why) {
    Poll();
    EXPECT_TRUE(waiter_.source->finished());
    const absl::Status write = Write().status();
    EXPECT_TRUE(absl::IsUnavailable(write)) << write;
    EXPECT_NE(write.message().find(std::string(why)), std::string::npos) << write;
    EXPECT_FALSE(Read().ok());
  }
  void ExpectAlive() {
    Poll();
    EXPECT_FALSE(waiter_.source->finished()) << Write().status();
  }
  absl::StatusOr<size_t> Write() {
    const stream::ConstBytes bytes(reinterpret_cast<const std::byte*>("x"), 1);
    return stream_->Write({&bytes, 1});
  }

  fabric::Simulation simulation_{20261121};
  HostilePeer peer_{simulation_};
  OneSource waiter_;
  std::unique_ptr<stream::Listener> listener_ =
      stream::CreateListener(std::make_shared<stream::OneFabric>(simulation_.CreateDevice("victim")),
                             {.ring_bytes = wire::kRingGranule, .window_bytes = kWindow}, &waiter_);
  std::shared_ptr<stream::Stream> stream_;
  uint32_t sequence_ = 0;
};

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

}  // namespace
}  // namespace skein::link
