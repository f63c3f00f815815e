// A ring that its writer changes while it is read, and its items are walked. Each of the reader's calls is followed by
// a change; what a call has given stays inside, whatever follows.
//
//   input = piece: what is there to begin with | changes: u16 offset | u8 bytes (0 to 8) | u64 of these
#include <algorithm>
#include <cstring>
#include <memory>

#include "core/channel/ring/ring_reader.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/script.h"
#include "tests/support/raw_message.h"
#include "tests/support/ring_message.h"

namespace skein::fuzz {
namespace {

constexpr uint64_t kSecret = 0x5ec3e7;
constexpr size_t kRing = 4096;

void Change(absl::Span<std::byte> memory, Script& script) {
  const size_t offset = script.Take<uint16_t>() % memory.size();
  const size_t bytes = std::min<size_t>(script.Take<uint8_t>() % 9, memory.size() - offset);
  const auto word = script.Take<uint64_t>();
  std::memcpy(memory.data() + offset, &word, bytes);
}

uint64_t Sum(absl::Span<const std::byte> bytes) {
  uint64_t sum = 0;
  for (const std::byte byte : bytes) sum += static_cast<uint8_t>(byte);
  return sum;
}

uint64_t ReadItems(const channel::Message& message, absl::Span<std::byte> ring, Script& script) {
  uint64_t read = 0;
  for (wire::ItemWalk items = ItemsOf(message); !items.done();) {
    const absl::StatusOr<wire::Item> item = items.Next();
    Change(ring, script);
    if (!item.ok()) break;
    Require(item->payload.size() == item->header.size, "the payload told");
    Require(item->payload.data() >= message.area.data() && item->payload.end() <= message.area.end(), "inside");
    read += Sum(item->payload);
  }
  return read;
}

// Returns the sum of all that it was given, so that it is looked at.
uint64_t ReadRing(Script& script) {
  const auto words = std::make_unique<uint64_t[]>(kRing / sizeof(uint64_t));
  const absl::Span<std::byte> ring(reinterpret_cast<std::byte*>(words.get()), kRing);
  const absl::string_view content = script.Piece().substr(0, kRing);
  std::memcpy(ring.data(), content.data(), content.size());
  channel::RingReader reader(ring, kSecret);
  uint64_t read = 0;
  while (!script.done()) {
    const absl::StatusOr<std::optional<channel::Message>> next = reader.Next();
    Change(ring, script);
    if (!next.ok()) break;
    if (!next->has_value()) continue;
    const channel::Message& message = **next;
    Require(message.area.data() >= ring.data() && message.area.end() <= ring.end(), "inside");
    read += ReadItems(message, ring, script);
    const uint64_t before = reader.head();
    reader.Pop();
    Require(reader.head() > before && reader.head() - before <= kRing, "the head goes on, by a ring at most");
  }
  return read;
}

std::string ChangeTo(uint16_t offset, uint8_t bytes, uint64_t word) {
  std::string change;
  wire::Put(change, offset);
  wire::Put(change, bytes);
  wire::Put(change, word);
  return change;
}

}  // namespace

std::vector<std::string> Seeds() {
  const std::string items = wire::RawItem(wire::ItemKind::kData, 1, 0, "some bytes") +
                            wire::RawItem(wire::ItemKind::kData, 1, 1, std::string(100, 'd'));
  const std::string ring = wire::RawMessage(kSecret, 0, 2, items) + wire::RawMessage(kSecret, 1, 1, items);
  // The first item's size.
  const std::string size = ChangeTo(36, 4, 1 << 20);
  const std::string nothing = ChangeTo(0, 0, 0) + ChangeTo(0, 0, 0);
  return {Piece(ring) + nothing + nothing + nothing, Piece(ring) + size + size + size};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skein::fuzz;  // NOLINT(google-build-using-namespace): this is of it, but for its C name
  Script script(Text(data, size));
  return ReadRing(script) == UINT64_MAX ? -1 : 0;
}
