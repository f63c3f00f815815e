#include "core/channel/shm/region.h"

#include <atomic>
#include <utility>

#include "core/base/random_value.h"
#include "core/channel/shm/layout.h"

namespace skein::channel::shm {
namespace {

constexpr size_t kMaxRegionBytes = size_t{1} << 40;

// Of whole pages, and so that no address in a region of the largest size is one that overflows.
uint64_t RandomBase() { return RandomValue<uint64_t>() >> 2 & ~uint64_t{kPageBytes - 1}; }

// From a random one on, none twice.
uint32_t NextKey() {
  static std::atomic<uint32_t> next = RandomValue<uint32_t>();
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Region>> Region::Allocate(size_t bytes, uint32_t access) {
  if (bytes == 0) return absl::InvalidArgumentError("a memory region of no bytes");
  if (bytes > kMaxRegionBytes) return absl::ResourceExhaustedError("a memory region of more than 1 TiB");
  SharedMemory memory;
  if (access == fabric::kLocalOnly) {
    absl::StatusOr<Mapping> mapping = Map(/*fd=*/-1, bytes);
    if (!mapping.ok()) return mapping.status();
    memory.mapping = *std::move(mapping);
  } else {
    const bool peers_write = (access & (fabric::kRemoteWrite | fabric::kRemoteAtomic)) != 0;
    auto shared = CreateShared("skein-region", bytes, peers_write);
    if (!shared.ok()) return shared.status();
    memory = *std::move(shared);
  }
  return std::unique_ptr<Region>(new Region(std::move(memory), access));
}

Region::Region(SharedMemory memory, uint32_t access)
    : memory_(std::move(memory)), access_(access), remote_{RandomBase(), NextKey()} {}

SideMessage Region::Grant() const {
  SideMessage grant;
  grant.kind = SideMessageKind::kGrant;
  grant.rkey = remote_.rkey;
  grant.access = access_;
  grant.base = remote_.address;
  grant.size = memory_.mapping.size();
  return grant;
}

}  // namespace skein::channel::shm
