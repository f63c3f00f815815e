// Reads messages out of this process's ring, which one peer writes. Not thread-safe: used by whoever polls the link.
#ifndef SKEIN_CORE_CHANNEL_RING_RING_READER_H_
#define SKEIN_CORE_CHANNEL_RING_RING_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/wire/message.h"

namespace skein::channel {

struct Message {
  wire::MessageHeader header;        // a private copy
  size_t bytes = 0;                  // in the ring
  absl::Span<const std::byte> area;  // of the items; in the ring until Pop
  bool wraps() const { return header.items == wire::kWrap; }
};

class RingReader {
 public:
  // `ring` outlives the reader.
  RingReader(absl::Span<const std::byte> ring, uint64_t secret) : ring_(ring), canaries_(secret) {}

  // The next message, if it has arrived whole; looked for once, the same until Pop. DATA_LOSS: the writer broke the
  // format.
  absl::StatusOr<std::optional<Message>> Next();
  // Of what Next gave.
  void Pop();
  // Bytes consumed since the start: what the writer is told.
  uint64_t head() const { return head_; }

 private:
  absl::StatusOr<std::optional<Message>> Look() const;

  const absl::Span<const std::byte> ring_;
  const wire::Canaries canaries_;
  uint64_t head_ = 0;
  uint64_t number_ = 0;
  std::optional<Message> next_;  // once it has been found
};

}  // namespace skein::channel

#endif  // SKEIN_CORE_CHANNEL_RING_RING_READER_H_
