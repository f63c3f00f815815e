// A ring's message in one step: in at the writer's end, its items out at the reader's. A channel has other things to do
// in between.
#ifndef SKEIN_TESTS_SUPPORT_RING_MESSAGE_H_
#define SKEIN_TESTS_SUPPORT_RING_MESSAGE_H_

#include "absl/status/status.h"
#include "core/channel/ring/ring_reader.h"
#include "core/channel/ring/ring_writer.h"

namespace skein::channel {

inline absl::Status Write(RingWriter& writer, absl::Span<OutItem> items, Reserve reserve, const Posting& posting = {}) {
  if (absl::Status laid = writer.Lay(items, reserve); !laid.ok()) return laid;
  return writer.Post(posting);
}

inline wire::ItemWalk ItemsOf(const Message& message) {
  return {message.wraps() ? 0 : message.header.items, message.area};
}

}  // namespace skein::channel

#endif  // SKEIN_TESTS_SUPPORT_RING_MESSAGE_H_
