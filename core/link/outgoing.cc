#include "core/link/outgoing.h"

#include <algorithm>

namespace skein::link {

void Outgoing::Clear() {
  items_.clear();
  sources_.clear();
  parts_.clear();
  bytes_ = 0;
}

void Outgoing::Begin(Port* port, uint32_t stream, wire::ItemKind kind) {
  channel::OutItem& item = items_.emplace_back();
  item.header.stream = stream;
  item.header.kind = kind;
  if (port != nullptr) item.header.sequence = port->next_out_++;
  sources_.push_back({port, parts_.size(), 0});
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
    ++sources_.back().count;
    size -= part.size();
    offset = 0;
  }
}

void Outgoing::MarkPosted(uint64_t tail) {
  for (const Source& source : sources_) {
    if (source.port != nullptr) source.port->migration_.OnPosted(tail);
  }
}

void Outgoing::TakeBack() {
  for (const Source& source : sources_) {
    if (source.port != nullptr) --source.port->next_out_;
  }
  Clear();
}

absl::Span<channel::OutItem> Outgoing::items() {
  // Only now, because the parts have moved while there were more and more of them.
  for (size_t i = 0; i < items_.size(); ++i) {
    items_[i].payload = absl::Span<const ConstBytes>(parts_.data() + sources_[i].first, sources_[i].count);
  }
  return absl::MakeSpan(items_);
}

}  // namespace skein::link
