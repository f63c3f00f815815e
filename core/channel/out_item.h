// An item on its way out of this process.
#ifndef SKEIN_CORE_CHANNEL_OUT_ITEM_H_
#define SKEIN_CORE_CHANNEL_OUT_ITEM_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "core/wire/message.h"

namespace skein::channel {

struct OutItem {
  wire::ItemHeader header;
  // header.size bytes of these, from `offset` on, are the payload; they have so many.
  absl::Span<const absl::Span<const std::byte>> buffers;
  size_t offset = 0;
  // The payload's owner copies it by itself, after the message was laid and before it is published, to `destination`,
  // which laying the message sets.
  bool leaves_copying = false;
  std::byte* destination = nullptr;

  // Calls `what` with the payload's pieces, none of which is empty.
  template <class What>
  void ForEachPiece(What what) const {
    size_t skip = offset;
    size_t left = header.size;
    for (const absl::Span<const std::byte> part : buffers) {
      if (left == 0) return;
      if (skip >= part.size()) {
        skip -= part.size();
        continue;
      }
      const absl::Span<const std::byte> piece = part.subspan(skip, left);
      what(piece);
      left -= piece.size();
      skip = 0;
    }
  }
};

}  // namespace skein::channel

#endif  // SKEIN_CORE_CHANNEL_OUT_ITEM_H_
