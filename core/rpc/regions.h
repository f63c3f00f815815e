// Memory of a server that its clients may use by themselves, and how they are told of it.
#ifndef SKEIN_CORE_RPC_REGIONS_H_
#define SKEIN_CORE_RPC_REGIONS_H_

#include <skein/rpc.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/mutex.h"
#include "core/channel/channel.h"
#include "core/fabric/fabric.h"
#include "core/link/link.h"

namespace skein::rpc {

// Handlers of every server.
inline constexpr uint32_t kAttachHandler = 0xffffffff;  // u32 region -> RemoteRegion
inline constexpr uint32_t kAtomicHandler = 0xfffffffe;  // AtomicRequest -> u64, what was there

// This is how a client is told of a region.
static_assert(sizeof(RemoteRegion) == 32);

enum class AtomicKind : uint32_t { kFetchAdd = 1, kCompareSwap };

struct AtomicRequest {
  uint32_t region = 0;
  AtomicKind kind = AtomicKind::kFetchAdd;
  uint64_t offset = 0;
  uint64_t operand = 0;  // addend, or what is expected
  uint64_t swap = 0;
};
static_assert(sizeof(AtomicRequest) == 32);

// Any thread.
class Regions {
 public:
  // Zeroed memory of `transport`, which reaches it best. ALREADY_EXISTS.
  absl::StatusOr<absl::Span<std::byte>> Add(uint32_t number, size_t bytes, uint32_t access,
                                            channel::Transport* transport) ABSL_LOCKS_EXCLUDED(mu_);
  // The answers of the two handlers. The first gives the memory to the link's peer.
  absl::StatusOr<std::string> Attach(absl::string_view request, link::Link& link) ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<std::string> Execute(absl::string_view request) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Registered {
    std::shared_ptr<fabric::Device> device;  // null: shared memory
    std::unique_ptr<fabric::MemoryRegion> region;
  };
  struct Region {
    Region() = default;
    Region(Region&&) = default;
    Region& operator=(Region&&) = delete;
    ~Region() {
      while (!with.empty()) with.pop_back();
    }
    absl::Span<std::byte> bytes;
    uint32_t access = 0;
    std::vector<Registered> with;  // the first has the memory, and goes last
  };

  Mutex mu_;
  absl::flat_hash_map<uint32_t, Region> regions_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::rpc

#endif  // SKEIN_CORE_RPC_REGIONS_H_
