#include "core/trace/ring_registry.h"

#include <algorithm>
#include <new>

namespace skein::trace {

RecordRing* RingRegistry::Claim() {
  MutexLock lock(&mu_);
  if (!free_.empty()) {
    RecordRing* ring = free_.back();
    free_.pop_back();
    return ring;
  }
  if (rings_.size() == kMostRings) return nullptr;
  std::unique_ptr<RecordRing> ring(new (std::nothrow) RecordRing);
  if (ring == nullptr) return nullptr;
  return rings_.emplace_back(std::move(ring)).get();
}

void RingRegistry::Release(RecordRing* ring) {
  MutexLock lock(&mu_);
  free_.push_back(ring);
}

size_t RingRegistry::Drain(absl::FunctionRef<void(const Record&)> take) {
  std::vector<RecordRing*> rings;
  {
    MutexLock lock(&mu_);
    rings.reserve(rings_.size());
    for (const std::unique_ptr<RecordRing>& ring : rings_) rings.push_back(ring.get());
  }
  size_t most = 0;
  for (RecordRing* ring : rings) most = std::max(most, ring->Drain(take));
  return most;
}

}  // namespace skein::trace
