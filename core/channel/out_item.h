// An item on its way out of this process.
#ifndef SKEIN_CORE_CHANNEL_OUT_ITEM_H_
#define SKEIN_CORE_CHANNEL_OUT_ITEM_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/types/span.h"
#include "core/wire/message.h"

namespace skein::channel {

// Copies them to `at`. Gives what is behind.
inline std::byte* Append(std::byte* at, const void* data, size_t size) {
  if (size > 0) std::memcpy(at, data, size);
  return at + size;
}

struct OutItem {
  wire::ItemHeader header;
  // header.size bytes of these, from `offset` on, are the payload; they have so many.
  absl::Span<const absl::Span<const std::byte>> buffers;
  size_t offset = 0;
  // The payload's owner copies it by itself, after the message was laid and before it is published, to `destination`,
  // which laying the message sets.
  bool leaves_copying = false;
  std::byte* destination = nullptr;

  // Lays it into a message at `at`: wire::ItemBytes(header.size) bytes. Gives what is behind.
  std::byte* LayAt(std::byte* at) {
    static constexpr std::byte kZeros[sizeof(uint64_t)] = {};
    at = Append(at, &header, sizeof(header));
    if (leaves_copying) {
      destination = at;
      at += header.size;
    } else {
      at = CopyPayload(at);
    }
    return Append(at, kZeros, wire::PaddedPayload(header.size) - header.size);
  }

 private:
  std::byte* CopyPayload(std::byte* at) const {
    size_t skip = offset;
    size_t left = header.size;
    for (const absl::Span<const std::byte> part : buffers) {
      if (left == 0) break;
      if (skip >= part.size()) {
        skip -= part.size();
        continue;
      }
      const absl::Span<const std::byte> piece = part.subspan(skip, left);
      at = Append(at, piece.data(), piece.size());
      left -= piece.size();
      skip = 0;
    }
    return at;
  }
};

}  // namespace skein::channel

#endif  // SKEIN_CORE_CHANNEL_OUT_ITEM_H_
