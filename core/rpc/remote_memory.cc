#include "core/rpc/remote_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace skein::rpc {
namespace {

constexpr size_t kBlockBytes = 16 << 10;
constexpr size_t kBlocks = 16;

class Waiting final : public channel::MemoryOperation {
 public:
  explicit Waiting(const std::shared_ptr<wait::WaitSet>& space) : space_(space) { waiter.Begin(); }
  // Once it is brought, its owner may let go of the space, while a thread that only asks after the peer is here.
  void OnDone(fabric::CompletionStatus with) override {
    const std::shared_ptr<wait::WaitSet> space = space_;
    status = with;
    space->Complete(waiter);
  }

  wait::Waiter waiter;
  fabric::CompletionStatus status = fabric::CompletionStatus::kSuccess;

 private:
  const std::shared_ptr<wait::WaitSet>& space_;
};

absl::Status Check(const RemoteRegion& region, uint64_t offset, uint64_t size, uint32_t access) {
  if (offset > region.size || size > region.size - offset) {
    return absl::OutOfRangeError(absl::StrCat(size, " bytes at ", offset, " of a region of ", region.size));
  }
  if ((region.access & access) != access) return absl::PermissionDeniedError("the server does not allow that there");
  return absl::OkStatus();
}

fabric::SendRequest RequestOf(fabric::Opcode opcode, const RemoteRegion& region, uint64_t offset) {
  fabric::SendRequest request;
  request.opcode = opcode;
  request.remote = {region.address + offset, region.rkey};
  return request;
}

}  // namespace

absl::StatusOr<fabric::Segment> RemoteMemory::TakeBlock() {
  MutexLock lock(&mu_);
  if (blocks_ == nullptr) {
    auto blocks = link_.device()->Allocate(kBlocks * kBlockBytes, fabric::kLocalOnly);
    if (!blocks.ok()) return blocks.status();
    blocks_ = *std::move(blocks);
    for (size_t i = 0; i < kBlocks; ++i) {
      free_.push_back({blocks_->bytes().data() + i * kBlockBytes, kBlockBytes, blocks_->lkey()});
    }
  }
  if (free_.empty()) return absl::ResourceExhaustedError(absl::StrCat(kBlocks, " operations are under way"));
  const fabric::Segment block = free_.back();
  free_.pop_back();
  return block;
}

void RemoteMemory::GiveBack(const fabric::Segment& block) {
  MutexLock lock(&mu_);
  free_.push_back(block);
}

// `bytes` are what is sent, or where what comes goes.
absl::Status RemoteMemory::Run(fabric::SendRequest request, std::byte* bytes, size_t size) {
  fabric::Segment local{bytes, size, 0};
  fabric::Segment block;
  const absl::Cleanup give_back = [&] {
    if (block.data != nullptr) GiveBack(block);
  };
  if (!copies()) {
    absl::StatusOr<fabric::Segment> taken = TakeBlock();
    if (!taken.ok()) return taken.status();
    block = *taken;
    local = {block.data, size, block.lkey};
    if (request.opcode == fabric::Opcode::kWrite) std::memcpy(local.data, bytes, size);
  }
  Waiting operation(space_);
  operation.request = request;
  operation.local = local;
  if (absl::Status posted = link_.Operate(operation); !posted.ok()) {
    if (absl::IsResourceExhausted(posted) || absl::IsInvalidArgument(posted)) return posted;
    return absl::UnavailableError(absl::StrCat("the link to the server is lost: ", posted.message()));
  }
  // Without a limit: the memory is the device's until it is done, or the link lost.
  space_->Wait(operation.waiter, Deadline::max());
  if (operation.status != fabric::CompletionStatus::kSuccess) {
    return absl::UnavailableError(
        absl::StrCat("the link to the server is lost: ", fabric::CompletionStatusName(operation.status)));
  }
  if (local.data != bytes && request.opcode != fabric::Opcode::kWrite) std::memcpy(bytes, local.data, size);
  return absl::OkStatus();
}

absl::Status RemoteMemory::Read(const RemoteRegion& region, uint64_t offset, absl::Span<std::byte> to) {
  absl::Status status = Check(region, offset, to.size(), kRemoteRead);
  while (status.ok() && !to.empty()) {
    const size_t size = std::min(to.size(), kBlockBytes);
    status = Run(RequestOf(fabric::Opcode::kRead, region, offset), to.data(), size);
    to.remove_prefix(size);
    offset += size;
  }
  return status;
}

absl::Status RemoteMemory::Write(const RemoteRegion& region, uint64_t offset, absl::Span<const std::byte> from) {
  absl::Status status = Check(region, offset, from.size(), kRemoteWrite);
  while (status.ok() && !from.empty()) {
    const size_t size = std::min(from.size(), kBlockBytes);
    // A source is only read.
    status = Run(RequestOf(fabric::Opcode::kWrite, region, offset), const_cast<std::byte*>(from.data()), size);
    from.remove_prefix(size);
    offset += size;
  }
  return status;
}

absl::StatusOr<uint64_t> RemoteMemory::Atomic(const RemoteRegion& region, uint64_t offset, fabric::Opcode opcode,
                                              uint64_t operand, uint64_t swap) {
  absl::Status status = Check(region, offset, sizeof(uint64_t), kRemoteAtomic);
  if (status.ok() && (region.address + offset) % sizeof(uint64_t) != 0) {
    status = absl::OutOfRangeError("an atomic at no multiple of 8");
  }
  if (!status.ok()) return status;
  fabric::SendRequest request = RequestOf(opcode, region, offset);
  request.operand = operand;
  request.swap = swap;
  uint64_t old = 0;
  status = Run(request, reinterpret_cast<std::byte*>(&old), sizeof(old));
  if (!status.ok()) return status;
  return old;
}

}  // namespace skein::rpc
