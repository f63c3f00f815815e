// Memory out of which a link's peer reads large payloads. A block is taken and filled, announced, and free again when
// the peer says that it has pulled it.
//
//   free --Take--> taken --Announce--> out --OnPulled, GiveBack--> free
#ifndef SKEIN_CORE_LINK_BLOCKS_H_
#define SKEIN_CORE_LINK_BLOCKS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "core/base/mutex.h"
#include "core/fabric/fabric.h"
#include "core/link/port.h"
#include "core/wire/block.h"

namespace skein::link {

// Those of a link; the peer has keys to nothing else of this process but rings. Any thread. Lock: mu_, under a port's.
class Blocks {
 public:
  static constexpr size_t kBlockBytes = wire::kMaxBlockBytes;
  // Memory comes in slabs when it is first needed, and stays as long as the link.
  static constexpr size_t kSlabBlocks = 32;
  static constexpr size_t kMaxSlabs = 4;
  static_assert(kSlabBlocks * kMaxSlabs <= wire::kMaxBlocks);

  // `device` outlives it.
  explicit Blocks(fabric::Device* device) : device_(device) {}

  struct Block {
    uint32_t number = 0;
    std::byte* bytes = nullptr;  // kBlockBytes
    fabric::RemoteAddress remote;
  };
  // A block, or why there is none. RESOURCE_EXHAUSTED: all are in use, and the port is among TakeWaiters when one is
  // free; FAILED_PRECONDITION: there is no memory for any.
  absl::StatusOr<Block> Take(Port& port);
  // Before the peer hears of it.
  void Announce(uint32_t number);
  // An announced block, of which the peer has not heard after all. True if somebody waits for one.
  bool GiveBack(uint32_t number);
  // DATA_LOSS if it is not out.
  absl::Status OnPulled(uint32_t number);
  // Whether somebody may wait for one: a hint to the poller.
  bool wanted() const { return wanted_.load(std::memory_order_relaxed); }
  // Who may Take again, if a block is free. By the poller.
  std::vector<std::shared_ptr<Port>> TakeWaiters();

  // Whether the peer has pulled all there was. `tells`: if so, the caller tells all who have heard no.
  bool AllBack(bool tells);
  // AllBack has said no, and nobody has told since.
  bool flush_wanted() const { return flush_wanted_.load(std::memory_order_relaxed); }
  // The link is lost: nobody pulls any more.
  void Fail();

 private:
  enum class State : uint8_t { kFree, kTaken, kOut };

  bool Grow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Free(uint32_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  fabric::Device* const device_;  // null: there is no memory for any
  Mutex mu_;
  std::vector<std::unique_ptr<fabric::MemoryRegion>> slabs_ ABSL_GUARDED_BY(mu_);
  std::vector<State> states_ ABSL_GUARDED_BY(mu_);   // by number
  std::vector<uint32_t> free_ ABSL_GUARDED_BY(mu_);  // the last one first: it may still be in a cache
  std::vector<std::weak_ptr<Port>> waiters_ ABSL_GUARDED_BY(mu_);
  bool failed_ ABSL_GUARDED_BY(mu_) = false;
  // Written under mu_. Relaxed: hints to the poller, who has had mu_, or been woken, since they matter.
  std::atomic<bool> wanted_ = false;
  std::atomic<bool> flush_wanted_ = false;
};

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_BLOCKS_H_
