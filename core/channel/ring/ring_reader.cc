#include "core/channel/ring/ring_reader.h"

#include <atomic>
#include <cstring>

namespace skein::channel {
namespace {

// Pairs with the last word of the writer's WRITE, which the fabric makes visible (release) after all that precedes it.
uint64_t LoadWord(const std::byte* at) {
  auto* word = reinterpret_cast<uint64_t*>(const_cast<std::byte*>(at));  // atomic_ref takes no const in C++20
  return std::atomic_ref<uint64_t>(*word).load(std::memory_order_acquire);
}

}  // namespace

absl::StatusOr<std::optional<Message>> RingReader::Next() {
  if (!next_.has_value()) {
    absl::StatusOr<std::optional<Message>> found = Look();
    if (!found.ok()) return found;
    next_ = *std::move(found);
  }
  return next_;
}

absl::StatusOr<std::optional<Message>> RingReader::Look() const {
  const size_t offset = head_ % ring_.size();
  const std::byte* at = ring_.data() + offset;
  Message message;
  message.bytes = canaries_.Length(number_, LoadWord(at));
  if (message.bytes == 0) return std::nullopt;
  // Of a WRITE that is still landing, the length may be what an earlier message has left there.
  if (message.bytes > ring_.size() - offset) return std::nullopt;
  const size_t before_canary = message.bytes - sizeof(uint64_t);
  if (LoadWord(at + before_canary) != canaries_.Tail(number_)) return std::nullopt;
  std::memcpy(&message.header, at, sizeof(message.header));
  message.area = {at + sizeof(message.header), before_canary - sizeof(message.header)};
  if (message.wraps() && message.bytes != wire::kMessageUnit) {
    return absl::DataLossError("a message with a malformed header");
  }
  return message;
}

void RingReader::Pop() {
  head_ += next_->wraps() ? ring_.size() - head_ % ring_.size() : next_->bytes;
  ++number_;
  next_.reset();
}

}  // namespace skein::channel
