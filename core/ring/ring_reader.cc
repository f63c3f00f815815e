#include "core/ring/ring_reader.h"

#include <atomic>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace skein::ring {
namespace {

// Pairs with the last word of the writer's WRITE, which the fabric makes visible (release) after all that precedes it.
uint64_t LoadWord(const std::byte* at) {
  auto* word = reinterpret_cast<uint64_t*>(const_cast<std::byte*>(at));  // atomic_ref takes no const in C++20
  return std::atomic_ref<uint64_t>(*word).load(std::memory_order_acquire);
}

}  // namespace

absl::StatusOr<std::optional<Message>> RingReader::Next() {
  const size_t offset = head_ % ring_.size();
  const std::byte* at = ring_.data() + offset;
  Message message;
  message.bytes = canaries_.Length(number_, LoadWord(at));
  if (message.bytes == 0) return std::nullopt;
  if (message.bytes > ring_.size() - offset) {
    return absl::DataLossError(absl::StrCat("a message of ", message.bytes, " bytes beyond the end of its ring"));
  }
  const size_t before_canary = message.bytes - sizeof(uint64_t);
  if (LoadWord(at + before_canary) != canaries_.Tail(number_)) return std::nullopt;
  std::memcpy(&message.header, at, sizeof(message.header));
  message.area = {at + sizeof(message.header), before_canary - sizeof(message.header)};
  const bool wrap = message.header.flags == wire::kWrap;
  if ((message.header.flags & ~wire::kWrap) != 0 || message.header.credits != 0 || message.header.stage_time != 0 ||
      (wrap && (message.header.items != 0 || message.bytes != wire::kMessageUnit))) {
    return absl::DataLossError("a message with a malformed header");
  }
  return message;
}

void RingReader::Pop(const Message& message) {
  const bool wrap = message.header.flags == wire::kWrap;
  head_ += wrap ? ring_.size() - head_ % ring_.size() : message.bytes;
  ++number_;
}

}  // namespace skein::ring
