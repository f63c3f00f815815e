// A peer that has a link as any other, and never gives what is needed to send to it: credits, window, space in its
// ring, blocks. The link refuses what is written, and keeps none of it; the poller finds no work; other links go on;
// the end is as ever.
#include <malloc.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "core/link/blocks.h"
#include "core/schedule/credits.h"
#include "core/wire/negotiation.h"
#include "gtest/gtest.h"
#include "tests/support/noted_device.h"
#include "tests/unit/link/hostile_peer.h"
#include "tests/unit/stream/two_ends.h"

namespace skein::stream {
namespace {

using wire::ItemKind;

constexpr size_t kTries = 1000;
constexpr uint64_t kMuch = uint64_t{1} << 30;

// What was freed and malloc has at hand counts as given out. Of 150 rounds, in which each kept the least that malloc
// gives, it would be twice as much.
constexpr size_t kAtHand = 2048;

size_t HeapBytes() {
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

// Two streams of a hostile peer's are on its link; an honest one has another.
class StingyPeerTest : public testing::Test {
 protected:
  static StreamOptions Options() {
    StreamOptions options;
    options.link.ring_bytes = wire::kRingGranule;
    options.window_bytes = 16;
    return options;
  }

  StingyPeerTest() {
    ends_.listener = CreateListener(std::make_shared<connect::OneFabric>(device_), Options(), &ends_.server_waiter);
    honest_ = ends_.Connect();
    others_bytes_ = device_->bytes();
    const wire::Yes yes = Accept(peer_.Offer(), streams_[0]);
    peer_.Attach(yes.new_link.ring, yes.new_link.queue_pair);
    peer_.WriteItem(peer_.Hello());
    ends_.Pump();
    EXPECT_FALSE(Accept("for no new link", streams_[1]).is_new);
    streams_[0]->SetObserver(sees_);
    link_ = streams_[0]->link();
  }

  wire::Yes Accept(absl::string_view queue_pair, std::shared_ptr<Stream>& stream) {
    wire::Offer offer;
    offer.fabrics = {{"sim", std::string(queue_pair)}};
    Listener::Result result = ends_.listener->Accept(wire::EncodeOffer(offer), {});
    stream = std::move(result.outcome.stream);
    return std::get<wire::Yes>(wire::DecodeAnswer(result.answer).value());
  }
  // By the peer, for the first stream or the second.
  void Say(size_t stream, ItemKind kind, absl::string_view payload = {}) {
    peer_.WriteItem(kind, static_cast<uint32_t>(stream + 1), said_[stream]++, payload);
    ends_.Pump();
  }
  void Open(size_t stream, uint64_t window) { Say(stream, ItemKind::kOpen, link::NumberPayload(window)); }
  void Grant() {
    peer_.Grant();
    ends_.Pump();
  }
  // How much is taken, in pieces, until nothing is. With credits whenever they are needed, or without.
  size_t WriteAll(size_t stream, absl::string_view piece, size_t grants) {
    size_t all = 0;
    for (;;) {
      const size_t taken = WriteText(*streams_[stream], piece).value();
      all += taken;
      ends_.Pump();
      if (taken > 0) continue;
      if (grants-- == 0) return all;
      Grant();
    }
  }

  // However often it is tried, nothing is taken, kept or sent, and nobody is woken.
  void ExpectNothingMoves() {
    ends_.Pump();
    const std::string text = RandomText(size_t{1} << 20, 1);
    WriteText(*streams_[0], text).IgnoreError();  // the first slab of blocks stays
    ASSERT_TRUE(link_->Arm());
    const size_t device_bytes = device_->bytes();
    const size_t heap = HeapBytes();
    const uint64_t messages = link_->traffic().messages_sent;
    sees_->writable = 0;
    for (size_t i = 0; i < kTries; ++i) {
      ASSERT_EQ(WriteText(*streams_[0], text).value(), 0U);
      ASSERT_EQ(ends_.simulation->pending_events(), 0U);
      ASSERT_FALSE(ends_.simulation->WouldWake(device_->completion_queues.back()));
      ASSERT_FALSE(link_->Poll());
      ASSERT_TRUE(link_->Arm());
    }
    EXPECT_EQ(sees_->writable, 0) << "who is told writes again";
    EXPECT_EQ(link_->traffic().messages_sent, messages);
    EXPECT_EQ(device_->bytes(), device_bytes);
    EXPECT_LE(HeapBytes(), heap + kAtHand);
  }

  // Both ways, window after window.
  void ExpectTheHonestOneIsServed() {
    const std::string text = RandomText(700, 2);
    for (const bool up : {true, false}) {
      size_t taken = 0;
      std::string read;
      for (size_t i = 0; i < text.size() && read.size() < text.size(); ++i) {
        taken += WriteText(up ? *honest_.client : *honest_.server, text.substr(taken)).value();
        ends_.Pump();
        read += ReadAll(up ? *honest_.server : *honest_.client).first;
      }
      EXPECT_EQ(read, text);
    }
  }

  void ExpectItEnds() {
    streams_[1]->CloseWrite();
    for (auto& stream : streams_) stream = nullptr;
    ends_.Pump();
    EXPECT_FALSE(link_->finished());
    ASSERT_TRUE(link_->ports().CloseIfUnused());
    link_->Close();
    ends_.Pump();
    EXPECT_TRUE(link_->finished());
    link_ = nullptr;
    EXPECT_EQ(device_->bytes(), others_bytes_);
    EXPECT_EQ(ends_.server_waiter.watched(), 1U);
    ExpectTheHonestOneIsServed();
  }

  TwoEnds ends_{FabricKindUnderTest::kSim, Options()};
  const std::shared_ptr<fabric::NotedDevice> device_ = std::make_shared<fabric::NotedDevice>(ends_.server_device);
  const std::shared_ptr<CountingObserver> sees_ = std::make_shared<CountingObserver>();
  link::HostilePeer peer_{*ends_.simulation};
  TwoEnds::Pair honest_;
  size_t others_bytes_ = 0;
  std::array<std::shared_ptr<Stream>, 2> streams_;
  std::array<uint32_t, 2> said_ = {};
  std::shared_ptr<link::Link> link_;
};

TEST_F(StingyPeerTest, WhoNeverGrantsCreditsIsSentNoMoreThanItHasGranted) {
  Open(0, kMuch);
  Open(1, kMuch);
  EXPECT_EQ(WriteAll(0, "x", /*grants=*/0), schedule::kDefaultCredits);
  ExpectNothingMoves();
  EXPECT_EQ(WriteAll(1, "x", /*grants=*/0), 0U) << "they are of the link";
  ExpectTheHonestOneIsServed();
  ExpectItEnds();
}

// What it sends is read, though it cannot be told so: that is one word per stream, however often it would be said.
TEST_F(StingyPeerTest, WhoNeverGrantsCreditsIsReadAllTheSame) {
  Open(0, kMuch);
  Open(1, kMuch);
  WriteAll(0, "x", /*grants=*/0);
  size_t heap = 0;
  constexpr size_t kRounds = 300;
  for (size_t i = 0; i < kRounds; ++i) {
    Say(1, ItemKind::kData, "8 bytes;");
    EXPECT_EQ(ReadAll(*streams_[1]).first, "8 bytes;");
    if (i == kRounds / 2) heap = HeapBytes();
  }
  EXPECT_LE(HeapBytes(), heap + kAtHand);
  EXPECT_LE(link_->traffic().messages_sent, schedule::kDefaultCredits + schedule::kReservedCredits + 1U)
      << "the last one asks";
  ExpectNothingMoves();
  ExpectTheHonestOneIsServed();
  ExpectItEnds();
}

TEST_F(StingyPeerTest, WhoNeverReturnsWindowIsSentNoMoreThanThat) {
  Open(0, 10);
  Open(1, kMuch);
  EXPECT_EQ(WriteAll(0, "more than that", /*grants=*/0), 10U);
  ExpectNothingMoves();
  EXPECT_EQ(WriteAll(1, "x", /*grants=*/3), 4U * schedule::kDefaultCredits - 1) << "the link's other streams go on";
  ExpectTheHonestOneIsServed();
  ExpectItEnds();
}

TEST_F(StingyPeerTest, WhoNeverReadsIsSentARing) {
  Open(0, kMuch);
  const size_t taken = WriteAll(0, RandomText(1000, 1), /*grants=*/1);
  EXPECT_GT(taken, wire::kRingGranule / 2);
  EXPECT_LT(taken, wire::kRingGranule);
  ExpectNothingMoves();
  ExpectTheHonestOneIsServed();
  ExpectItEnds();
}

TEST_F(StingyPeerTest, WhoNeverPullsIsKeptFourMebibytes) {
  Open(0, kMuch);
  EXPECT_EQ(WriteAll(0, RandomText(size_t{1} << 20, 1), /*grants=*/1), size_t{4} << 20);
  ExpectNothingMoves();
  ExpectTheHonestOneIsServed();
  ExpectItEnds();
}

}  // namespace
}  // namespace skein::stream
