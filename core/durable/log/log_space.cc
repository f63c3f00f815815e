#include "core/durable/log/log_space.h"

#include <algorithm>

namespace skein::durable {

LogSpace::LogSpace(uint64_t ring_bytes, uint64_t head)
    : ring_bytes_(ring_bytes), limit_(head), tail_(head), last_(head) {}

void LogSpace::AddRecovered(uint64_t position) {
  entries_.push_back({position, false});
  last_ = position;
}

void LogSpace::EndRecovered(uint64_t tail) { tail_ = tail; }

uint64_t LogSpace::PadBefore(uint64_t bytes) const {
  const uint64_t left = ring_bytes_ - tail_ % ring_bytes_;
  return bytes <= left ? 0 : left;
}

bool LogSpace::Fits(uint64_t bytes, uint64_t keep_free, uint64_t limit) const {
  const uint64_t free = limit + ring_bytes_ - tail_;
  const uint64_t needed = PadBefore(bytes) + bytes;
  return needed <= free && keep_free <= free - needed;
}

bool LogSpace::WouldFit(uint64_t bytes, uint64_t keep_free) const { return Fits(bytes, keep_free, head()); }

std::optional<LogSpace::Place> LogSpace::Take(uint64_t bytes, uint64_t keep_free) {
  if (!Fits(bytes, keep_free, limit_)) return std::nullopt;
  Place place;
  place.pad_bytes = PadBefore(bytes);
  place.position = tail_ + place.pad_bytes;
  tail_ = place.position + bytes;
  last_ = place.position;
  entries_.push_back({place.position, false});
  return place;
}

bool LogSpace::Release(uint64_t position) {
  const auto entry = std::lower_bound(entries_.begin(), entries_.end(), position,
                                      [](const Wanted& wanted, uint64_t at) { return wanted.position < at; });
  if (entry == entries_.end() || entry->position != position || entry->released) return false;
  entry->released = true;
  while (!entries_.empty() && entries_.front().released) entries_.pop_front();
  return true;
}

}  // namespace skein::durable
