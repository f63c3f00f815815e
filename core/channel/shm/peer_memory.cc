#include "core/channel/shm/peer_memory.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/sealed_memory.h"
#include "core/channel/shm/layout.h"
#include "core/fabric/requests.h"

namespace skein::channel::shm {
namespace {

constexpr uint32_t kWriting = fabric::kRemoteWrite | fabric::kRemoteAtomic;
constexpr uint64_t kMaxOperationBytes = uint64_t{1} << 31;

uint32_t AccessOf(fabric::Opcode opcode) {
  if (fabric::IsAtomic(opcode)) return fabric::kRemoteAtomic;
  return opcode == fabric::Opcode::kRead ? fabric::kRemoteRead : fabric::kRemoteWrite;
}

void Read(const std::byte* from, absl::Span<const fabric::Segment> into) {
  for (const fabric::Segment& segment : into) {
    if (segment.size > 0) std::memcpy(segment.data, from, segment.size);
    from += segment.size;
  }
}

// As fabric.h has it, the last word becomes visible no earlier than all bytes before it: when it is one aligned word of
// one segment, it is stored apart, with release.
void Write(absl::Span<const fabric::Segment> from, std::byte* to) {
  for (const fabric::Segment& segment : from) {
    size_t copied = segment.size;
    const bool last = &segment == &from.back();
    const std::byte* const end = to + segment.size;
    const bool word = last && copied >= sizeof(uint64_t) && reinterpret_cast<uintptr_t>(end) % sizeof(uint64_t) == 0;
    if (word) copied -= sizeof(uint64_t);
    if (copied > 0) std::memcpy(to, segment.data, copied);
    if (word) {
      uint64_t value = 0;
      std::memcpy(&value, segment.data + copied, sizeof(value));
      std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(to + copied)).store(value, std::memory_order_release);
    }
    to += segment.size;
  }
}

// Of both processes' threads, and of the server's own: acquire and release, as if a lock were taken and let go.
uint64_t Atomic(const fabric::SendRequest& request, std::byte* at) {
  std::atomic_ref<uint64_t> word(*reinterpret_cast<uint64_t*>(at));
  if (request.opcode == fabric::Opcode::kFetchAdd) return word.fetch_add(request.operand, std::memory_order_acq_rel);
  uint64_t old = request.operand;
  word.compare_exchange_strong(old, request.swap, std::memory_order_acq_rel);  // leaves what was there in `old`
  return old;
}

}  // namespace

std::byte* PeerRegion::Find(uint32_t access, uint64_t address, uint64_t size) const {
  const uint64_t offset = address - base_;  // an address before the base wraps around, and so lies beyond the end
  if ((access_ & access) != access || offset > mapping_.size() || size > mapping_.size() - offset) return nullptr;
  return mapping_.data() + offset;
}

absl::Status PeerMemory::Add(const SideMessage& grant, int memfd) {
  if (memfd < 0) return absl::DataLossError("the peer passed memory without its descriptor");
  MutexLock lock(&mu_);
  if (regions_.contains(grant.rkey)) return absl::DataLossError("the peer passed memory under a key that it has given");
  if (regions_.size() >= limits_.max_imports) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the peer passes more than ", limits_.max_imports, " memory regions"));
  }
  if (grant.size == 0) return absl::DataLossError("the peer passed memory of no bytes");
  if (grant.size > limits_.max_import_bytes - mapped_bytes_) {
    return absl::ResourceExhaustedError(absl::StrCat("the peer passes ", grant.size, " bytes of memory more than the ",
                                                     mapped_bytes_, " mapped already; at most ",
                                                     limits_.max_import_bytes, " are taken"));
  }
  // Atomics are on aligned words: of the region's numbering, and of this process's memory.
  if (grant.base % kPageBytes != 0) return absl::DataLossError("the peer's memory begins amid a page");
  absl::StatusOr<Mapping> mapping = MapSealed(memfd, grant.size, (grant.access & kWriting) != 0);
  if (!mapping.ok()) return mapping.status();
  mapped_bytes_ += grant.size;
  regions_.emplace(grant.rkey, std::make_unique<const PeerRegion>(*std::move(mapping), grant));
  return absl::OkStatus();
}

const PeerRegion* PeerMemory::Find(uint32_t rkey) const {
  MutexLock lock(&mu_);
  const auto found = regions_.find(rkey);
  return found == regions_.end() ? nullptr : found->second.get();
}

absl::Status Execute(const fabric::SendRequest& request, const PeerRegion* region) {
  if (request.opcode == fabric::Opcode::kSend || request.opcode == fabric::Opcode::kWriteWithImmediate) {
    return absl::InvalidArgumentError("a message is no operation on memory");
  }
  if (absl::Status checked = fabric::CheckRequest(request, kMaxOperationBytes); !checked.ok()) return checked;
  const uint64_t size = fabric::TotalBytes(request.local);
  std::byte* const at =
      region == nullptr ? nullptr : region->Find(AccessOf(request.opcode), request.remote.address, size);
  if (at == nullptr) {
    return absl::PermissionDeniedError(absl::StrCat(fabric::OpcodeName(request.opcode), " of ", size, " bytes at ",
                                                    request.remote.address, " of memory that does not allow it"));
  }
  if (request.opcode == fabric::Opcode::kRead) {
    Read(at, request.local);
  } else if (request.opcode == fabric::Opcode::kWrite) {
    Write(request.local, at);
  } else {
    const uint64_t old = Atomic(request, at);
    std::memcpy(request.local[0].data, &old, sizeof(old));
  }
  return absl::OkStatus();
}

}  // namespace skein::channel::shm
