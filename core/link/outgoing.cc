#include "core/link/outgoing.h"

#include <algorithm>

namespace skein::link {

void Outgoing::Clear() {
  items_.clear();
  parts_of_.clear();
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
  parts_of_.push_back({parts_.size(), 0});
}

void Outgoing::Add(Port* port, uint32_t stream, wire::ItemKind kind, ConstBytes payload) {
  AddGathered(port, stream, kind, {&payload, 1}, 0, payload.size());
}

void Outgoing::AddGathered(Port* port, uint32_t stream, wire::ItemKind kind, absl::Span<const ConstBytes> buffers,
                           size_t offset, size_t size) {
  Begin(port, stream, kind);
  bytes_ += wire::ItemBytes(size);
  for (const ConstBytes& buffer : buffers) {
    if (size == 0) break;
    if (offset >= buffer.size()) {
      offset -= buffer.size();
      continue;
    }
    const ConstBytes part = buffer.subspan(offset, size);
    parts_.push_back(part);
    ++parts_of_.back().count;
    size -= part.size();
    offset = 0;
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

absl::Span<channel::OutItem> Outgoing::items() {
  // Only now, because the parts have moved while there were more and more of them.
  for (size_t i = 0; i < items_.size(); ++i) {
    items_[i].payload = absl::MakeConstSpan(parts_).subspan(parts_of_[i].first, parts_of_[i].count);
  }
  return absl::MakeSpan(items_);
}

}  // namespace skein::link
