// A stream whose peer is hostile: it writes what it likes for stream 1.
#ifndef SKEIN_TESTS_UNIT_LINK_HOSTILE_STREAM_H_
#define SKEIN_TESTS_UNIT_LINK_HOSTILE_STREAM_H_

#include <memory>
#include <string>
#include <vector>

#include "core/stream/connector.h"
#include "core/wire/negotiation.h"
#include "gtest/gtest.h"
#include "tests/unit/link/hostile_peer.h"

namespace skein::link {

class OneSource final : public wait::Watcher {
 public:
  void Watch(std::shared_ptr<wait::Source> given) override { source = std::move(given); }
  std::shared_ptr<wait::Source> source;
};

class HostileStream : public testing::Test {
 protected:
  static constexpr size_t kWindow = 1000;

  HostileStream() {
    // As the adapter would: a true negotiation, whose other side is the hostile peer.
    wire::Offer offer;
    offer.fabrics = {{"sim", peer_.Offer()}};
    stream::Listener::Result result = listener_->Accept(wire::EncodeOffer(offer), {});
    const wire::Yes yes = std::get<wire::Yes>(wire::DecodeAnswer(result.answer).value());
    stream_ = result.outcome.stream;
    EXPECT_EQ(yes.stream, 1u);
    peer_.Attach(yes.new_link.ring, yes.new_link.queue_pair);
    peer_.WriteItem(peer_.Hello());
    Item(wire::ItemKind::kOpen, NumberPayload(0));
  }
  void Item(wire::ItemKind kind, absl::string_view payload = {}) { peer_.WriteItem(kind, 1, sequence_++, payload); }
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
  absl::StatusOr<size_t> Write(absl::string_view text = "x") {
    const stream::ConstBytes bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
    return stream_->Write({&bytes, 1});
  }

  fabric::Simulation simulation_{20261121};
  HostilePeer peer_{simulation_};
  OneSource waiter_;
  std::unique_ptr<stream::Listener> listener_ =
      stream::CreateListener(std::make_shared<connect::OneFabric>(simulation_.CreateDevice("victim")),
                             {.link = {.ring_bytes = wire::kRingGranule}, .window_bytes = kWindow}, &waiter_);
  std::shared_ptr<stream::Stream> stream_;
  uint32_t sequence_ = 0;
};

}  // namespace skein::link

#endif  // SKEIN_TESTS_UNIT_LINK_HOSTILE_STREAM_H_
