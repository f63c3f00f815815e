#include "core/channel/shm/shm_transport.h"

#include <utility>

#include "core/channel/shm/region.h"
#include "core/channel/shm/shm_group.h"
#include "core/fabric/shm/device_core.h"

namespace skein::channel {
namespace {

class SharedMemory final : public Transport {
 public:
  explicit SharedMemory(std::shared_ptr<fabric::shm::DeviceCore> core) : core_(std::move(core)) {}

  absl::string_view name() const override { return "shm"; }
  Traits traits() const override {
    Traits traits;
    traits.announces_close = true;
    traits.meets_on_connect = true;
    traits.max_channels = 1;  // both directions of one take no lock in common
    return traits;
  }
  absl::StatusOr<std::unique_ptr<ChannelGroup>> NewGroup(uint32_t /*max_channels*/, bool /*shares_memory*/) override {
    return shm::ShmGroup::Create(core_);
  }
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> Allocate(size_t bytes, uint32_t access) override {
    return shm::Region::Allocate(bytes, access);
  }

 private:
  const std::shared_ptr<fabric::shm::DeviceCore> core_;
};

}  // namespace

std::shared_ptr<Transport> ShmTransport(const std::shared_ptr<fabric::Device>& shm_device) {
  std::shared_ptr<fabric::shm::DeviceCore> core = fabric::shm::CoreOf(*shm_device);
  return core == nullptr ? nullptr : std::make_shared<SharedMemory>(std::move(core));
}

}  // namespace skein::channel
