// Any bytes in the ring are messages that lie inside it, or an error, or not there yet.
#include "core/channel/ring/ring_reader.h"

#include <cstring>
#include <memory>

#include "core/wire/block.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/raw_message.h"
#include "tests/support/ring_message.h"
#include "tests/support/wire_samples.h"

namespace skein::fuzz {
namespace {

constexpr uint64_t kSecret = 0x5ec3e7;

std::string Number(uint64_t number) {
  std::string bytes;
  wire::Put(bytes, number);
  return bytes;
}

// One message after the other, with the right canaries.
class RingContent {
 public:
  RingContent& Add(uint32_t items, absl::string_view bytes, wire::MessageHeader header = {}) {
    header.items = items;
    content_ += wire::RawMessage(kSecret, number_++, header, bytes);
    return *this;
  }
  RingContent& Wrap() { return Add(wire::kWrap, ""); }
  std::string bytes() const { return content_; }

 private:
  std::string content_;
  uint64_t number_ = 0;
};

}  // namespace

std::vector<std::string> Seeds() {
  using wire::ItemKind;
  using wire::RawItem;
  RingContent beginning;
  beginning.Add(1, RawItem(ItemKind::kHello, 0, 0, wire::EncodeRingDescriptor(wire::SampleRing())))
      .Add(2, RawItem(ItemKind::kOpen, 1, 0, Number(1000)) + RawItem(ItemKind::kData, 1, 1, "some bytes"))
      .Add(1, RawItem(ItemKind::kWindow, 1, 2, Number(500)))
      .Add(1, RawItem(ItemKind::kBlock, 1, 3, wire::Encode(wire::Block{0x7f0000001000, 7, 1000, 3})))
      .Add(1, RawItem(ItemKind::kBye, 0, 0))
      .Add(2, RawItem(ItemKind::kCloseWrite, 1, 4) + RawItem(ItemKind::kAbort, 2, 0, "why"));
  RingContent large;
  large.Add(1, RawItem(ItemKind::kData, 1, 0, std::string(1500, 'd'))).Wrap();
  RingContent small;
  for (uint32_t i = 0; i < 8; ++i) small.Add(1, RawItem(ItemKind::kData, 1, i, "x"));
  return {beginning.bytes(), large.bytes(), small.bytes()};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skein::fuzz::Require;
  // Whole units; words of 8 bytes, as a mapping is aligned at least so well.
  const size_t ring_bytes = (size + 63) / 64 * 64;
  if (ring_bytes == 0) return 0;
  const auto words = std::make_unique<uint64_t[]>(ring_bytes / 8);
  std::memcpy(words.get(), data, size);
  const absl::Span<const std::byte> ring(reinterpret_cast<const std::byte*>(words.get()), ring_bytes);
  skein::channel::RingReader reader(ring, skein::fuzz::kSecret);
  uint64_t read = 0;  // summed up, so that every byte given is looked at
  for (size_t messages = 0;; ++messages) {
    // Each number has canaries of its own, so no unit is a message twice.
    Require(messages <= ring_bytes / 64, "a ring's content is read once");
    const absl::StatusOr<std::optional<skein::channel::Message>> next = reader.Next();
    if (!next.ok() || !next->has_value()) break;
    const skein::channel::Message& message = **next;
    Require(message.area.data() >= ring.data() && message.area.data() + message.area.size() <= ring.end(), "inside");
    for (skein::wire::ItemWalk items = ItemsOf(message); !items.done();) {
      const absl::StatusOr<skein::wire::Item> item = items.Next();
      if (!item.ok()) break;
      Require(item->payload.size() == item->header.size, "the payload told");
      for (const std::byte byte : item->payload) read += static_cast<uint8_t>(byte);
    }
    const uint64_t before = reader.head();
    reader.Pop();
    Require(reader.head() > before && reader.head() % 64 == 0, "the head goes on, by units");
  }
  return read == UINT64_MAX ? -1 : 0;
}
