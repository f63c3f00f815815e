#include "core/channel/shm/shm_transport.h"

#include <utility>

#include "core/channel/shm/region.h"
#include "core/channel/shm/shm_group.h"
#include "core/channel/shm/transport_core.h"

namespace skein::channel {
namespace {

class ShmTransport final : public Transport {
 public:
  explicit ShmTransport(const ShmOptions& options) : core_(std::make_shared<shm::TransportCore>(options)) {}

  const std::shared_ptr<shm::TransportCore>& core() const { return core_; }
  absl::string_view name() const override { return "shm"; }
  Traits traits() const override {
    Traits traits;
    traits.announces_close = true;
    traits.meets_on_connect = true;
    return traits;
  }
  absl::Status Usable() const override { return core_->refusals.OfAll(); }
  absl::StatusOr<std::unique_ptr<ChannelGroup>> NewGroup(bool /*shares_memory*/) override {
    return shm::ShmGroup::Create(core_);
  }
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> Allocate(size_t bytes, uint32_t access) override {
    return shm::Region::Allocate(bytes, access);
  }

 private:
  const std::shared_ptr<shm::TransportCore> core_;
};

}  // namespace

std::shared_ptr<Transport> OpenShm(const ShmOptions& options) { return std::make_shared<ShmTransport>(options); }

namespace shm {
std::shared_ptr<TransportCore> CoreOf(const Transport& transport) {
  return dynamic_cast<const ShmTransport&>(transport).core();
}
}  // namespace shm

}  // namespace skein::channel
