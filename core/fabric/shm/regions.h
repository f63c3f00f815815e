// Memory regions of this process, and what peers are given of them. A region's memfd starts with one page of header;
// a peer maps it whole when it first uses the rkey.
#ifndef SKEIN_CORE_FABRIC_SHM_REGIONS_H_
#define SKEIN_CORE_FABRIC_SHM_REGIONS_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "core/base/mutex.h"
#include "core/base/unique_fd.h"
#include "core/fabric/fabric.h"
#include "core/fabric/shm/memory.h"
#include "core/fabric/shm/side_message.h"
#include "core/fabric/shm/socket.h"

namespace skein::fabric::shm {

struct RegionHeader {
  // Set (release) when the owner destroys the region; a peer loads it (acquire) before each access. A peer that ignores
  // it writes to pages that are no longer mapped by anybody but itself.
  std::atomic<uint32_t> revoked;
};
inline constexpr size_t kRegionHeaderBytes = 4096;

class RegionTable;

class ShmMemoryRegion final : public MemoryRegion {
 public:
  struct Parts {
    absl::Span<std::byte> bytes;
    Mapping mapping;       // header and, when allocated, the bytes; or private memory
    UniqueFd memfd;        // invalid when no peer may have it
    uint64_t address = 0;  // where registered bytes are; 0 when in the memfd
    uint32_t access = 0;
  };
  ShmMemoryRegion(std::shared_ptr<RegionTable> table, Parts parts);
  ~ShmMemoryRegion() override;

  absl::Span<std::byte> bytes() const override { return parts_.bytes; }
  uint32_t lkey() const override { return rkey_; }
  RemoteAddress remote() const override { return {base_, rkey_}; }
  const Parts& parts() const { return parts_; }
  bool Contains(uint64_t address) const { return address - base_ < parts_.bytes.size(); }

 private:
  const std::shared_ptr<RegionTable> table_;
  const Parts parts_;
  // Where peers say that it begins. Random: a peer can guess neither this nor the rkey of memory that is another one's.
  const uint64_t base_;
  uint32_t rkey_ = 0;
};

// Any thread.
class RegionTable {
 public:
  uint32_t Add(const ShmMemoryRegion* region);
  void Remove(uint32_t rkey);
  // Answers a peer's kWant on its socket; counts a refusal. kFull: ask again later.
  SendResult Grant(const SideMessage& want, int socket, int& refusals);

 private:
  Mutex mu_;
  absl::flat_hash_map<uint32_t, const ShmMemoryRegion*> regions_ ABSL_GUARDED_BY(mu_);
};

absl::StatusOr<std::unique_ptr<MemoryRegion>> AllocateRegion(const std::shared_ptr<RegionTable>& table, size_t bytes,
                                                             uint32_t access);
absl::StatusOr<std::unique_ptr<MemoryRegion>> RegisterRegion(const std::shared_ptr<RegionTable>& table,
                                                             absl::Span<std::byte> bytes, uint32_t access);

}  // namespace skein::fabric::shm

#endif  // SKEIN_CORE_FABRIC_SHM_REGIONS_H_
