// The peer's memory as one end of a channel has it: mapped when the peer passes it, and used by loads, stores and
// atomics of whichever thread asks.
#ifndef SKEIN_CORE_CHANNEL_SHM_PEER_MEMORY_H_
#define SKEIN_CORE_CHANNEL_SHM_PEER_MEMORY_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "core/base/mapping.h"
#include "core/base/mutex.h"
#include "core/channel/shm/shm_options.h"
#include "core/channel/shm/side_message.h"
#include "core/fabric/fabric.h"

namespace skein::channel::shm {

// What the peer has passed of one of its regions. Constant; the bytes are both processes'.
class PeerRegion {
 public:
  PeerRegion(Mapping mapping, const SideMessage& grant)
      : mapping_(std::move(mapping)), access_(grant.access), base_(grant.base) {}

  // Where `size` bytes at `address` are; null where the peer does not allow that.
  std::byte* Find(uint32_t access, uint64_t address, uint64_t size) const;

 private:
  const Mapping mapping_;
  const uint32_t access_;
  const uint64_t base_;
};

// Any thread. Lock: mu_, a leaf. A region stays mapped until this object goes: so nothing is locked while bytes are
// copied.
class PeerMemory {
 public:
  // `limits` outlives it.
  explicit PeerMemory(const ShmOptions& limits) : limits_(limits) {}

  // A region that the peer passes. An error is the connection's end. RESOURCE_EXHAUSTED: it is beyond this end's
  // limits, or it CameOfErrno; other errors: the peer has broken the protocol, or it CameOfErrno.
  absl::Status Add(const SideMessage& grant, int memfd) ABSL_LOCKS_EXCLUDED(mu_);
  // The region of that key; null: the peer has not passed it.
  const PeerRegion* Find(uint32_t rkey) const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  const ShmOptions& limits_;
  mutable Mutex mu_;
  absl::flat_hash_map<uint32_t, std::unique_ptr<const PeerRegion>> regions_ ABSL_GUARDED_BY(mu_);
  uint64_t mapped_bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

// READ, WRITE, FETCH_ADD or CMP_SWAP, done when it returns. PERMISSION_DENIED: the region, which may be null, does not
// allow it, and nothing was touched. INVALID_ARGUMENT: no such request (fabric::CheckRequest).
absl::Status Execute(const fabric::SendRequest& request, const PeerRegion* region);

}  // namespace skein::channel::shm

#endif  // SKEIN_CORE_CHANNEL_SHM_PEER_MEMORY_H_
