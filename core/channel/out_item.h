// An item on its way out of this process.
#ifndef SKEIN_CORE_CHANNEL_OUT_ITEM_H_
#define SKEIN_CORE_CHANNEL_OUT_ITEM_H_

#include <cstddef>

#include "absl/types/span.h"
#include "core/wire/message.h"

namespace skein::channel {

struct OutItem {
  wire::ItemHeader header;                                // but for its size, which the channel sets
  absl::Span<const absl::Span<const std::byte>> payload;  // gathered
  // The payload's owner copies it by itself, after the message was laid and before it is published, to `destination`,
  // which laying the message sets.
  bool leaves_copying = false;
  std::byte* destination = nullptr;
};

}  // namespace skein::channel

#endif  // SKEIN_CORE_CHANNEL_OUT_ITEM_H_
