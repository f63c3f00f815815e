#include "core/rpc/regions.h"

#include <atomic>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/wire/bytes.h"

namespace skein::rpc {
namespace {

constexpr uint32_t kDevicesPart = kRemoteRead | kRemoteWrite | kRemoteAtomic;
static_assert(uint32_t{kRemoteRead} == fabric::kRemoteRead && uint32_t{kRemoteWrite} == fabric::kRemoteWrite &&
              uint32_t{kRemoteAtomic} == fabric::kRemoteAtomic && (kServerAtomic & kDevicesPart) == 0);

absl::Status NoRegion(uint32_t number) { return absl::NotFoundError(absl::StrCat("no region ", number)); }

std::string WordBytes(uint64_t word) {
  std::string bytes;
  wire::Put(bytes, word);
  return bytes;
}

}  // namespace

absl::StatusOr<absl::Span<std::byte>> Regions::Add(uint32_t number, size_t bytes, uint32_t access,
                                                   channel::Transport* transport) {
  if (transport == nullptr) return absl::FailedPreconditionError("no fabric has memory for a region");
  if ((access & kRemoteAtomic) != 0 && (access & kServerAtomic) != 0) {
    return absl::InvalidArgumentError("atomics are either the device's or the server's");
  }
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> memory = transport->Allocate(bytes, access & kDevicesPart);
  if (!memory.ok()) return memory.status();
  MutexLock lock(&mu_);
  const auto [added, is_new] = regions_.try_emplace(number);
  if (!is_new) return absl::AlreadyExistsError(absl::StrCat("a region ", number));
  added->second.bytes = (*memory)->bytes();
  added->second.access = access;
  added->second.with.push_back({transport->device(), *std::move(memory)});
  return added->second.bytes;
}

absl::StatusOr<std::string> Regions::Attach(absl::string_view request, link::Link& link) {
  const std::shared_ptr<fabric::Device>& device = link.device();
  wire::FieldReader reader(request);
  RemoteRegion remote;
  remote.number = reader.Take<uint32_t>();
  if (!reader.done()) return absl::InvalidArgumentError("a malformed request for a region");
  MutexLock lock(&mu_);
  const auto found = regions_.find(remote.number);
  if (found == regions_.end()) return NoRegion(remote.number);
  Region& region = found->second;
  auto known = absl::c_find_if(region.with, [&](const Registered& with) { return with.device == device; });
  if (known == region.with.end()) {
    if (device == nullptr) {
      return absl::FailedPreconditionError("shared memory was no way when the server attached the region");
    }
    auto registered = device->Register(region.bytes, region.access & kDevicesPart);
    if (!registered.ok()) return registered.status();
    region.with.push_back({device, *std::move(registered)});
    known = region.with.end() - 1;
  }
  if (absl::Status passed = link.channel().Pass(*known->region); !passed.ok()) return passed;
  remote.access = region.access;
  remote.address = known->region->remote().address;
  remote.rkey = known->region->remote().rkey;
  remote.size = region.bytes.size();
  std::string answer;
  wire::Put(answer, remote);
  return answer;
}

absl::StatusOr<std::string> Regions::Execute(absl::string_view request) {
  wire::FieldReader reader(request);
  const auto atomic = reader.Take<AtomicRequest>();
  if (!reader.done()) return absl::InvalidArgumentError("a malformed atomic");
  MutexLock lock(&mu_);
  const auto found = regions_.find(atomic.region);
  if (found == regions_.end()) return NoRegion(atomic.region);
  const Region& region = found->second;
  if ((region.access & kServerAtomic) == 0) return absl::PermissionDeniedError("no atomics of the server's there");
  if (atomic.offset % sizeof(uint64_t) != 0 || region.bytes.size() < sizeof(uint64_t) ||
      atomic.offset > region.bytes.size() - sizeof(uint64_t)) {
    return absl::OutOfRangeError("an atomic beyond its region, or at no multiple of 8");
  }
  std::atomic_ref<uint64_t> word(*reinterpret_cast<uint64_t*>(region.bytes.data() + atomic.offset));
  switch (atomic.kind) {
    case AtomicKind::kFetchAdd:
      return WordBytes(word.fetch_add(atomic.operand, std::memory_order_acq_rel));
    case AtomicKind::kCompareSwap: {
      uint64_t old = atomic.operand;
      word.compare_exchange_strong(old, atomic.swap, std::memory_order_acq_rel);  // leaves what was there in `old`
      return WordBytes(old);
    }
  }
  return absl::InvalidArgumentError("no such atomic");
}

}  // namespace skein::rpc
