#include "core/fabric/shm/imports.h"

#include <sys/uio.h>

#include <cerrno>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"
#include "core/fabric/shm/regions.h"

namespace skein::fabric::shm {

bool Import::Allows(uint32_t access, uint64_t address, uint64_t size) const {
  const auto* header = reinterpret_cast<const RegionHeader*>(mapping_.data());
  if (header->revoked.load(std::memory_order_acquire) != 0) return false;
  const uint64_t offset = address - base_;  // beyond the end also for what lies before the base
  return (access_ & access) == access && offset <= size_ && size <= size_ - offset;
}

absl::Status Import::ReadFrom(pid_t pid, uint64_t address, absl::Span<const Segment> into) const {
  uint64_t from = address_ + (address - base_);
  for (const Segment& segment : into) {
    size_t done = 0;
    while (done < segment.size) {
      const iovec local = {segment.data + done, segment.size - done};
      // An address of the peer's, never used here.
      auto* const there = reinterpret_cast<void*>(from + done);  // NOLINT(performance-no-int-to-ptr)
      const iovec remote = {there, segment.size - done};
      const ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
      if (got <= 0) return ErrnoStatus(got < 0 ? errno : EFAULT, "read the peer's memory (process_vm_readv)");
      done += static_cast<size_t>(got);
    }
    from += segment.size;
  }
  return absl::OkStatus();
}

const Import* Imports::Find(uint32_t rkey) const {
  const auto found = imports_.find(rkey);
  return found == imports_.end() ? nullptr : &found->second;
}

absl::Status Imports::Add(const SideMessage& grant, int memfd) {
  if (asked_.erase(grant.rkey) == 0) return absl::DataLossError("the peer granted memory nobody asked for");
  if (memfd < 0) return absl::DataLossError("the peer granted memory without its descriptor");
  if (imports_.size() >= limits_.max_imports) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the peer offers more than ", limits_.max_imports, " memory regions"));
  }
  if (grant.size == 0 || grant.size > limits_.max_import_bytes - mapped_bytes_) {
    return absl::ResourceExhaustedError(absl::StrCat("the peer offers ", grant.size, " bytes of memory more than the ",
                                                     mapped_bytes_, " mapped already; at most ",
                                                     limits_.max_import_bytes, " are taken"));
  }
  const size_t data = grant.address == 0 ? (grant.size + 4095) & ~uint64_t{4095} : 0;
  absl::StatusOr<Mapping> mapping = MapSealed(memfd, kRegionHeaderBytes + data);
  if (!mapping.ok()) return mapping.status();
  mapped_bytes_ += data;
  imports_.try_emplace(grant.rkey, *std::move(mapping), grant);
  return absl::OkStatus();
}

absl::Status Imports::Refuse(uint32_t rkey) {
  if (asked_.erase(rkey) == 0) return absl::DataLossError("the peer refused memory nobody asked for");
  refused_.insert(rkey);
  return absl::OkStatus();
}

}  // namespace skein::fabric::shm
