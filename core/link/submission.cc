#include "core/link/submission.h"

#include <cstring>
#include <utility>

namespace skein::link {

Submission::Submission(Port& port, absl::Span<const Gathered> items, wire::ItemKind kind)
    : Request(/*alone=*/false), port_(port), items_(items), whole_(true), kind_(kind) {
  for (const Gathered& item : items) left_ += SizeOf(item);
}

size_t SizeOf(Gathered parts) {
  size_t size = 0;
  for (const ConstBytes& part : parts) size += part.size();
  return size;
}

void CopyGathered(Gathered from, size_t offset, absl::Span<std::byte> to) {
  for (const ConstBytes& part : from) {
    if (to.empty()) return;
    if (offset >= part.size()) {
      offset -= part.size();
      continue;
    }
    const ConstBytes bytes = part.subspan(offset, to.size());
    std::memcpy(to.data(), bytes.data(), bytes.size());
    to.remove_prefix(bytes.size());
    offset = 0;
  }
}

void Submission::Sent() {
  const size_t bytes = std::exchange(taken_, 0);
  const size_t items = std::exchange(taken_items_, 0);
  left_ -= bytes;
  if (whole_) {
    items_.remove_prefix(items);
    sent_ += items;
    return;
  }
  sent_ += bytes;
  offset_ += bytes;
  while (!buffers_.empty() && offset_ >= buffers_.front().size()) {
    offset_ -= buffers_.front().size();
    buffers_.remove_prefix(1);
  }
}

}  // namespace skein::link
