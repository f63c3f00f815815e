// An item whose payload is all bytes of some buffers. A link sends parts of its callers' buffers, and fills in more.
#ifndef SKEIN_TESTS_SUPPORT_OUT_ITEM_H_
#define SKEIN_TESTS_SUPPORT_OUT_ITEM_H_

#include "core/channel/out_item.h"

namespace skein::channel {

inline void Carry(OutItem& item, absl::Span<const absl::Span<const std::byte>> all) {
  item.buffers = all;
  item.header.size = 0;
  for (const absl::Span<const std::byte> part : all) item.header.size += static_cast<uint32_t>(part.size());
}

}  // namespace skein::channel

#endif  // SKEIN_TESTS_SUPPORT_OUT_ITEM_H_
