// A message being put together: items whose payloads stay where they are. Keeps its memory from one message to the
// next. Not thread-safe: it belongs to the sender's place.
#ifndef SKEIN_CORE_LINK_OUTGOING_H_
#define SKEIN_CORE_LINK_OUTGOING_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "core/channel/out_item.h"
#include "core/link/submission.h"
#include "core/wire/message.h"

namespace skein::link {

class Outgoing {
 public:
  void Clear();
  // An item that carries `size` bytes of `buffers`, from `offset` on. `port`: whose sequence it has; null: it has none.
  // The next number is given to it now.
  void Add(Port* port, uint32_t stream, wire::ItemKind kind, Gathered buffers, size_t offset, size_t size);
  // The message does not go: the sequence numbers go to whoever comes next.
  void TakeBack();

  bool empty() const { return items_.empty(); }
  size_t size() const { return items_.size(); }
  size_t bytes() const { return bytes_; }  // of the items
  absl::Span<channel::OutItem> items() { return absl::MakeSpan(items_); }

 private:
  std::vector<channel::OutItem> items_;
  std::vector<Port*> ports_;  // each item's
  size_t bytes_ = 0;
};

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_OUTGOING_H_
