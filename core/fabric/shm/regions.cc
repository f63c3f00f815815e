#include "core/fabric/shm/regions.h"

#include <utility>

#include "core/base/random_value.h"

namespace skein::fabric::shm {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kMaxRegionBytes = size_t{1} << 40;

// Of whole pages, and so that no address in a region of the largest size is one that overflows.
uint64_t RandomBase() { return RandomValue<uint64_t>() >> 2 & ~uint64_t{kPage - 1}; }

size_t ToPages(size_t bytes) { return (bytes + kPage - 1) & ~(kPage - 1); }

}  // namespace

ShmMemoryRegion::ShmMemoryRegion(std::shared_ptr<RegionTable> table, Parts parts)
    : table_(std::move(table)), parts_(std::move(parts)), base_(RandomBase()) {
  rkey_ = table_->Add(this);
}

ShmMemoryRegion::~ShmMemoryRegion() {
  table_->Remove(rkey_);
  if (parts_.memfd.valid()) {
    reinterpret_cast<RegionHeader*>(parts_.mapping.data())->revoked.store(1, std::memory_order_release);
  }
}

uint32_t RegionTable::Add(const ShmMemoryRegion* region) {
  MutexLock lock(&mu_);
  for (;;) {
    // Random, so that a key of one link means nothing on another.
    const auto rkey = RandomValue<uint32_t>();
    if (rkey != 0 && regions_.try_emplace(rkey, region).second) return rkey;
  }
}

void RegionTable::Remove(uint32_t rkey) {
  MutexLock lock(&mu_);
  regions_.erase(rkey);
}

SendResult RegionTable::Grant(const SideMessage& want, int socket, int& refusals) {
  MutexLock lock(&mu_);  // held over the send: the descriptor must not be closed before
  SideMessage answer;
  answer.rkey = want.rkey;
  const auto found = regions_.find(want.rkey);
  if (found == regions_.end() || !found->second->parts().memfd.valid() || !found->second->Contains(want.base)) {
    answer.kind = SideMessageKind::kRefuse;
    ++refusals;
    return SendMessage(socket, answer.view());
  }
  const ShmMemoryRegion::Parts& parts = found->second->parts();
  answer.kind = SideMessageKind::kGrant;
  answer.access = parts.access;
  answer.base = found->second->remote().address;
  answer.size = parts.bytes.size();
  answer.address = parts.address;
  return SendMessage(socket, answer.view(), parts.memfd.get());
}

absl::StatusOr<std::unique_ptr<MemoryRegion>> AllocateRegion(const std::shared_ptr<RegionTable>& table, size_t bytes,
                                                             uint32_t access) {
  if (bytes == 0) return absl::InvalidArgumentError("a memory region of no bytes");
  if (bytes > kMaxRegionBytes) return absl::ResourceExhaustedError("a memory region of more than 1 TiB");
  ShmMemoryRegion::Parts parts;
  parts.access = access;
  const size_t header = access == kLocalOnly ? 0 : kRegionHeaderBytes;
  if (access != kLocalOnly) {
    absl::StatusOr<UniqueFd> memfd = CreateSealedMemfd("skein-region", header + ToPages(bytes));
    if (!memfd.ok()) return memfd.status();
    parts.memfd = *std::move(memfd);
  }
  absl::StatusOr<Mapping> mapping = Map(parts.memfd.get(), header + ToPages(bytes));
  if (!mapping.ok()) return mapping.status();
  parts.mapping = *std::move(mapping);
  parts.bytes = parts.mapping.bytes().subspan(header, bytes);
  return std::make_unique<ShmMemoryRegion>(table, std::move(parts));
}

absl::StatusOr<std::unique_ptr<MemoryRegion>> RegisterRegion(const std::shared_ptr<RegionTable>& table,
                                                             absl::Span<std::byte> bytes, uint32_t access) {
  if (bytes.empty()) return absl::InvalidArgumentError("a memory region of no bytes");
  if ((access & ~uint32_t{kRemoteRead}) != 0) {
    return absl::UnimplementedError(
        "over shared memory, registered memory can be read by peers but not written: Allocate what they shall write");
  }
  ShmMemoryRegion::Parts parts;
  parts.bytes = bytes;
  parts.access = access;
  if (access != kLocalOnly) {
    absl::StatusOr<UniqueFd> memfd = CreateSealedMemfd("skein-region", kRegionHeaderBytes);
    if (!memfd.ok()) return memfd.status();
    absl::StatusOr<Mapping> mapping = Map(memfd->get(), kRegionHeaderBytes);
    if (!mapping.ok()) return mapping.status();
    parts.memfd = *std::move(memfd);
    parts.mapping = *std::move(mapping);
    parts.address = reinterpret_cast<uint64_t>(bytes.data());
  }
  return std::make_unique<ShmMemoryRegion>(table, std::move(parts));
}

}  // namespace skein::fabric::shm
