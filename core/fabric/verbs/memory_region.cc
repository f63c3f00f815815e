#include "core/fabric/verbs/memory_region.h"

#include <sys/resource.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"
#include "core/base/mapping.h"
#include "core/fabric/requests.h"

namespace skein::fabric::verbs {
namespace {

int VerbsAccess(uint32_t access) {
  int flags = IBV_ACCESS_LOCAL_WRITE;
  if ((access & kRemoteWrite) != 0) flags |= IBV_ACCESS_REMOTE_WRITE;
  if ((access & kRemoteRead) != 0) flags |= IBV_ACCESS_REMOTE_READ;
  if ((access & kRemoteAtomic) != 0) flags |= IBV_ACCESS_REMOTE_ATOMIC;
  return flags | FlushFlags(FlushesIn(access));
}

std::string MemlockLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return "unknown";
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : absl::StrCat(limit.rlim_cur, " bytes");
}

absl::Status RegistrationError(int error, const Context& context, size_t bytes) {
  const std::string what = absl::StrCat("register ", bytes, " bytes with ", context.name());
  if (error != ENOMEM && error != EAGAIN) return ErrnoStatus(error, what);
  return absl::ResourceExhaustedError(absl::StrCat(
      "cannot ", what, ": the limit on locked memory (RLIMIT_MEMLOCK) is ", MemlockLimit(),
      "; raise it: ulimit -l, LimitMEMLOCK= of a systemd unit, --ulimit memlock= of a container. (The device has ",
      context.attributes().max_mr, " regions.)"));
}

class VerbsRegion final : public MemoryRegion {
 public:
  VerbsRegion(std::shared_ptr<const Port> port, MemoryBudget::Share share, Mapping mapping, absl::Span<std::byte> bytes,
              ibv_mr* region)
      : port_(std::move(port)),
        share_(std::move(share)),
        mapping_(std::move(mapping)),
        bytes_(bytes),
        region_(region) {}
  ~VerbsRegion() override { port_->context->lib().dereg_mr(region_); }

  absl::Span<std::byte> bytes() const override { return bytes_; }
  uint32_t lkey() const override { return region_->lkey; }
  RemoteAddress remote() const override { return {reinterpret_cast<uint64_t>(bytes_.data()), region_->rkey}; }

 private:
  const std::shared_ptr<const Port> port_;
  const MemoryBudget::Share share_;
  const Mapping mapping_;  // of allocated regions; deregistered before it goes
  const absl::Span<std::byte> bytes_;
  ibv_mr* const region_;
};

absl::StatusOr<std::unique_ptr<MemoryRegion>> Make(std::shared_ptr<const Port> port, MemoryBudget::Share share,
                                                   Mapping mapping, absl::Span<std::byte> bytes, uint32_t access) {
  if (absl::Status flushes = CheckFlushAccess(access, CapabilitiesOf(*port)); !flushes.ok()) return flushes;
  ibv_mr* const region =
      port->context->lib().reg_mr(port->domain.get(), bytes.data(), bytes.size(), VerbsAccess(access));
  if (region == nullptr && (access & kRemoteFlushPersistent) != 0 && errno == EINVAL) {
    return absl::FailedPreconditionError(absl::StrCat(port->context->name(), " takes no memory for FLUSHes to ",
                                                      "persistence that is not persistent, as a device of DAX is"));
  }
  if (region == nullptr) return RegistrationError(errno, *port->context, bytes.size());
  return std::make_unique<VerbsRegion>(std::move(port), std::move(share), std::move(mapping), bytes, region);
}

}  // namespace

absl::StatusOr<std::unique_ptr<MemoryRegion>> AllocateRegion(std::shared_ptr<const Port> port, size_t bytes,
                                                             uint32_t access) {
  if (bytes == 0) return absl::InvalidArgumentError("a memory region of no bytes");
  absl::StatusOr<MemoryBudget::Share> share = MemoryBudget::OfProcess().Take(bytes, port->options.max_registered_bytes);
  if (!share.ok()) return share.status();
  absl::StatusOr<Mapping> mapping = Map(/*fd=*/-1, bytes);
  if (!mapping.ok()) return mapping.status();
  const absl::Span<std::byte> all = mapping->bytes();
  return Make(std::move(port), *std::move(share), *std::move(mapping), all, access);
}

absl::StatusOr<std::unique_ptr<MemoryRegion>> RegisterRegion(std::shared_ptr<const Port> port,
                                                             absl::Span<std::byte> bytes, uint32_t access) {
  if (bytes.empty()) return absl::InvalidArgumentError("a memory region of no bytes");
  absl::StatusOr<MemoryBudget::Share> share =
      MemoryBudget::OfProcess().Take(bytes.size(), port->options.max_registered_bytes);
  if (!share.ok()) return share.status();
  return Make(std::move(port), *std::move(share), Mapping(), bytes, access);
}

}  // namespace skein::fabric::verbs
