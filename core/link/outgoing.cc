#include "core/link/outgoing.h"

namespace skein::link {

void Outgoing::Clear() {
  items_.clear();
  ports_.clear();
  parts_.clear();
  bytes_ = 0;
}

void Outgoing::Begin(Port* port, uint32_t stream, wire::ItemKind kind) {
  channel::OutItem& item = items_.emplace_back();
  item.header.stream = stream;
  item.header.kind = kind;
  if (port != nullptr) item.header.sequence = port->next_out_++;
  ports_.push_back(port);
}

void Outgoing::Add(Port* port, uint32_t stream, wire::ItemKind kind, ConstBytes payload) {
  AddGathered(port, stream, kind, {&payload, 1}, 0, payload.size());
}

void Outgoing::AddGathered(Port* port, uint32_t stream, wire::ItemKind kind, absl::Span<const ConstBytes> buffers,
                           size_t offset, size_t size) {
  Begin(port, stream, kind);
  MakeRoomForParts(buffers.size());
  const size_t first = parts_.size();
  bytes_ += wire::ItemBytes(size);
  for (const ConstBytes& buffer : buffers) {
    if (size == 0) break;
    if (offset >= buffer.size()) {
      offset -= buffer.size();
      continue;
    }
    const ConstBytes part = buffer.subspan(offset, size);
    parts_.push_back(part);
    size -= part.size();
    offset = 0;
  }
  items_.back().payload = absl::MakeConstSpan(parts_.data() + first, parts_.size() - first);
}

// Items point to their parts, which so must not move unseen.
void Outgoing::MakeRoomForParts(size_t count) {
  if (parts_.capacity() - parts_.size() >= count) [[likely]]
    return;
  parts_.reserve(2 * (parts_.size() + count));
  size_t first = 0;
  for (channel::OutItem& item : items_) {
    item.payload = {parts_.data() + first, item.payload.size()};
    first += item.payload.size();
  }
}

void Outgoing::MarkPosted(uint64_t tail) {
  for (Port* port : ports_) {
    if (port != nullptr) port->migration_.OnPosted(tail);
  }
}

void Outgoing::TakeBack() {
  for (Port* port : ports_) {
    if (port != nullptr) --port->next_out_;
  }
  Clear();
}

}  // namespace skein::link
