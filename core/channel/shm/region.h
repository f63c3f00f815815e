// Memory of this process that peers may use by themselves: a sealed memfd, which a channel passes to the peers that are
// to have it.
#ifndef SKEIN_CORE_CHANNEL_SHM_REGION_H_
#define SKEIN_CORE_CHANNEL_SHM_REGION_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "core/channel/shm/memory.h"
#include "core/channel/shm/side_message.h"
#include "core/fabric/fabric.h"

namespace skein::channel::shm {

// The memfd begins with one page of header.
inline constexpr size_t kRegionHeaderBytes = 4096;
struct RegionHeader {
  // Release by the owner, which lets go of the region; a peer loads it with acquire before each access. A peer that
  // ignores it writes to pages that nobody but peers has mapped any more.
  std::atomic<uint32_t> revoked;
};
constexpr size_t RegionFileBytes(size_t bytes) {
  return kRegionHeaderBytes + ((bytes + kRegionHeaderBytes - 1) & ~(kRegionHeaderBytes - 1));
}

// Any thread.
class Region final : public fabric::MemoryRegion {
 public:
  // Zeroed. What peers may not write, the kernel keeps them from writing. INVALID_ARGUMENT: of no bytes.
  static absl::StatusOr<std::unique_ptr<Region>> Allocate(size_t bytes, uint32_t access);
  ~Region() override;

  absl::Span<std::byte> bytes() const override { return bytes_; }
  uint32_t lkey() const override { return 0; }
  fabric::RemoteAddress remote() const override { return remote_; }

  // What a peer is told that is passed memfd(). -1: no peer may use it, and none is passed anything.
  SideMessage Grant() const;
  int memfd() const { return memory_.memfd.get(); }

 private:
  Region(SharedMemory memory, size_t bytes, uint32_t access);

  const SharedMemory memory_;
  const absl::Span<std::byte> bytes_;
  const uint32_t access_;
  // By what peers name it. Random: nobody uses memory by guessing that he has it.
  const fabric::RemoteAddress remote_;
};

}  // namespace skein::channel::shm

#endif  // SKEIN_CORE_CHANNEL_SHM_REGION_H_
