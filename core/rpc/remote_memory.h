// One-sided use of a server's memory, over the link of a connection. Any thread.
#ifndef SKEIN_CORE_RPC_REMOTE_MEMORY_H_
#define SKEIN_CORE_RPC_REMOTE_MEMORY_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/mutex.h"
#include "core/link/link.h"
#include "core/rpc/regions.h"
#include "core/wait/wait_set.h"

namespace skein::rpc {

class RemoteMemory {
 public:
  RemoteMemory(link::Link& link, std::shared_ptr<wait::WaitSet> space) : link_(link), space_(std::move(space)) {}

  // Each waits until it is done: the bytes are here, or there. OUT_OF_RANGE, PERMISSION_DENIED: refused at this end.
  // RESOURCE_EXHAUSTED: too many under way. UNAVAILABLE: the link is lost, before or after. What is longer than a block
  // goes in several requests, in order, and is not read or written as one.
  absl::Status Read(const RemoteRegion& region, uint64_t offset, absl::Span<std::byte> to);
  absl::Status Write(const RemoteRegion& region, uint64_t offset, absl::Span<const std::byte> from);
  // By the device: `opcode` is kFetchAdd or kCompareSwap. What was there.
  absl::StatusOr<uint64_t> Atomic(const RemoteRegion& region, uint64_t offset, fabric::Opcode opcode, uint64_t operand,
                                  uint64_t swap);

 private:
  absl::Status Run(fabric::SendRequest request, std::byte* bytes, size_t size);
  // Whether the caller's own memory may be named in a request.
  bool copies() const { return link_.device() == nullptr; }
  // A piece of memory that the device knows, where it reads sources and writes results by itself.
  absl::StatusOr<fabric::Segment> TakeBlock() ABSL_LOCKS_EXCLUDED(mu_);
  void GiveBack(const fabric::Segment& block) ABSL_LOCKS_EXCLUDED(mu_);

  link::Link& link_;
  const std::shared_ptr<wait::WaitSet> space_;
  Mutex mu_;
  std::unique_ptr<fabric::MemoryRegion> blocks_ ABSL_GUARDED_BY(mu_);
  std::vector<fabric::Segment> free_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::rpc

#endif  // SKEIN_CORE_RPC_REMOTE_MEMORY_H_
