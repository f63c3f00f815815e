#include "core/link/outgoing.h"

namespace skein::link {

void Outgoing::Clear() {
  items_.clear();
  ports_.clear();
  bytes_ = 0;
}

void Outgoing::Add(Port* port, uint32_t stream, wire::ItemKind kind, Gathered buffers, size_t offset, size_t size) {
  channel::OutItem& item = items_.emplace_back();
  item.header.stream = stream;
  item.header.size = static_cast<uint32_t>(size);
  item.header.kind = kind;
  if (port != nullptr) item.header.sequence = port->next_out_++;
  item.buffers = buffers;
  item.offset = offset;
  ports_.push_back(port);
  bytes_ += wire::ItemBytes(size);
}

void Outgoing::TakeBack() {
  for (Port* port : ports_) {
    if (port != nullptr) --port->next_out_;
  }
  Clear();
}

}  // namespace skein::link
