// This end's memory as the peer has it: what was passed to one peer, and no more than it takes.
#ifndef SKEIN_CORE_CHANNEL_SHM_PASSED_MEMORY_H_
#define SKEIN_CORE_CHANNEL_SHM_PASSED_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "core/base/mutex.h"
#include "core/channel/shm/liveness_connection.h"
#include "core/channel/shm/region.h"
#include "core/channel/shm/shm_options.h"

namespace skein::channel::shm {

// Any thread. Lock: mu_, a leaf.
class PassedMemory {
 public:
  // `limits` outlives it.
  explicit PassedMemory(const ShmOptions& limits) : limits_(limits) {}

  // Gives it to the peer, once. RESOURCE_EXHAUSTED: the peer takes no more, or not now. UNAVAILABLE: the peer is gone,
  // or this end has shut the socket down.
  absl::Status Pass(const Region& region, LivenessConnection& peer) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  const ShmOptions& limits_;
  Mutex mu_;
  absl::flat_hash_set<uint32_t> keys_ ABSL_GUARDED_BY(mu_);
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace skein::channel::shm

#endif  // SKEIN_CORE_CHANNEL_SHM_PASSED_MEMORY_H_
