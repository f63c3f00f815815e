// Memory of this process that peers may use by themselves: a sealed memfd, which a channel passes to the peers that are
// to have it.
#ifndef SKEIN_CORE_CHANNEL_SHM_REGION_H_
#define SKEIN_CORE_CHANNEL_SHM_REGION_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "core/base/sealed_memory.h"
#include "core/channel/shm/side_message.h"
#include "core/fabric/fabric.h"

namespace skein::channel::shm {

// Any thread. A peer that was passed it keeps the pages until its channel goes, even when the region goes before.
class Region final : public fabric::MemoryRegion {
 public:
  // Zeroed. The kernel keeps peers from writing memory that they may not write (memory.h). INVALID_ARGUMENT: of no
  // bytes.
  static absl::StatusOr<std::unique_ptr<Region>> Allocate(size_t bytes, uint32_t access);

  absl::Span<std::byte> bytes() const override { return memory_.mapping.bytes(); }
  uint32_t lkey() const override { return 0; }
  fabric::RemoteAddress remote() const override { return remote_; }

  // The message that goes with memfd() to a peer. -1: no peer may use the region, and none is passed anything.
  SideMessage Grant() const;
  int memfd() const { return memory_.memfd.get(); }

 private:
  Region(SharedMemory memory, uint32_t access);

  const SharedMemory memory_;
  const uint32_t access_;
  // By what peers name it. Random, so that no peer uses memory by guessing that it has it; the key is the process's
  // only one of that number.
  const fabric::RemoteAddress remote_;
};

}  // namespace skein::channel::shm

#endif  // SKEIN_CORE_CHANNEL_SHM_REGION_H_
