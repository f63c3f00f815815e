#include "core/fabric/sim/regions.h"

#include "absl/strings/str_cat.h"
#include "core/fabric/requests.h"

namespace skein::fabric::sim {
namespace {
constexpr uint64_t kPage = 4096;
}  // namespace

RegionTable::Keys RegionTable::Add(uint64_t device, absl::Span<std::byte> bytes, uint32_t access, Random& random) {
  Region region{device, bytes, access, 0};
  // Remote addresses are a numbering of our own, so that code which takes them for pointers fails here and not on the
  // first real NIC; they are as aligned as the memory. A gap after each region makes overruns hit nothing.
  region.base = next_base_ + reinterpret_cast<uintptr_t>(bytes.data()) % kPage;
  next_base_ += (bytes.size() / kPage + 3) * kPage;

  // A counter and eight bits of chance, as mlx5 builds them: not reused soon, and lkey and rkey always differ.
  Keys keys;
  keys.lkey = (++next_key_ << 8) | static_cast<uint32_t>(random.Below(256));
  keys.remote = {region.base, (++next_key_ << 8) | static_cast<uint32_t>(random.Below(256))};
  by_lkey_[keys.lkey] = region;
  by_rkey_[keys.remote.rkey] = region;
  return keys;
}

void RegionTable::Remove(const Keys& keys) {
  by_lkey_.erase(keys.lkey);
  by_rkey_.erase(keys.remote.rkey);
}

std::byte* RegionTable::Reach(uint64_t device, const RemoteAddress& remote, uint64_t size, uint32_t access) const {
  const auto found = by_rkey_.find(remote.rkey);
  if (found == by_rkey_.end()) return nullptr;
  const Region& region = found->second;
  if (region.device != device || (region.access & access) != access) return nullptr;
  // The differences cannot wrap once each has been compared, whatever the peer sent.
  if (remote.address < region.base) return nullptr;
  const uint64_t offset = remote.address - region.base;
  if (offset > region.bytes.size() || size > region.bytes.size() - offset) return nullptr;
  return region.bytes.data() + offset;
}

bool RegionTable::Covers(uint64_t device, const Segment& segment) const {
  const auto found = by_lkey_.find(segment.lkey);
  if (found == by_lkey_.end() || found->second.device != device) return false;
  const absl::Span<std::byte> bytes = found->second.bytes;
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const auto at = reinterpret_cast<uintptr_t>(segment.data);
  return at >= begin && at - begin <= bytes.size() && segment.size <= bytes.size() - (at - begin);
}

absl::Status RegionTable::Check(uint64_t device, const Segment& segment, bool may_be_inline) const {
  if (absl::Status status = CheckSegment(segment); !status.ok() || segment.size == 0) return status;
  if (segment.lkey == 0 && may_be_inline) return absl::OkStatus();
  if (Covers(device, segment)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a segment of ", segment.size, " bytes outside the region of lkey ",
                                                 segment.lkey, "; this device reads memory after the post"));
}

}  // namespace skein::fabric::sim
