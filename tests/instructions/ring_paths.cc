// A message into a ring and out of it, over a fabric that does nothing but copy.
#include <array>
#include <memory>
#include <string>

#include "core/channel/ring/ring_reader.h"
#include "core/channel/ring/ring_writer.h"
#include "tests/instructions/hot_path.h"
#include "tests/support/out_item.h"
#include "tests/support/ring_message.h"
#include "tests/unit/channel_ring/plain_fabric.h"

namespace skein::instructions {
namespace {

// A ring, its writer and its reader.
class OneRing {
 public:
  OneRing() {
    writer_ = channel::RingWriter::Create(device_, queue_pair_,
                                          {channel::kRingAddress, kBytes, channel::kRingSecret, channel::kRingKey})
                  .value();
  }

  void Pass(size_t items) {
    std::array<channel::OutItem, 8> out;
    for (size_t i = 0; i < items; ++i) Carry(out[i], {&payload_, 1});
    Require(Write(*writer_, absl::MakeSpan(out).first(items), channel::Reserve::kData).ok(), "a write");
    while (!Read()) {
    }
    Require(writer_->SetPeerHead(reader_.head()).ok(), "a head");
    queue_pair_.posted.clear();
  }

 private:
  // False: that was a wrap.
  bool Read() {
    const absl::StatusOr<std::optional<channel::Message>> next = reader_.Next();
    Require(next.ok() && next->has_value(), "a message");
    for (wire::ItemWalk items = ItemsOf(**next); !items.done();) Require(items.Next().ok(), "an item");
    const bool whole = (*next)->header.items != wire::kWrap;
    reader_.Pop();
    return whole;
  }

  static constexpr size_t kBytes = wire::kRingGranule;
  const std::string bytes_ = std::string(64, 'x');
  const absl::Span<const std::byte> payload_{reinterpret_cast<const std::byte*>(bytes_.data()), bytes_.size()};
  channel::PlainDevice device_;
  channel::PlainMemory memory_{kBytes};
  channel::PlainQueuePair queue_pair_{memory_.bytes()};
  channel::RingReader reader_{memory_.bytes(), channel::kRingSecret};
  std::unique_ptr<channel::RingWriter> writer_;
};

std::function<Operation()> Messages(size_t items) {
  return [=]() -> Operation { return [ring = std::make_shared<OneRing>(), items] { ring->Pass(items); }; };
}

}  // namespace

std::vector<HotPath> RingPaths() {
  return {{"ring.message", 2048, Messages(1)}, {"ring.message_of_eight", 2048, Messages(8)}};
}

}  // namespace skein::instructions
