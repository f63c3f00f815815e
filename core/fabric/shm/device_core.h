// What all objects of one device share, and what a channel on it shares with them: where peers are met, and what the
// kernel has refused.
#ifndef SKEIN_CORE_FABRIC_SHM_DEVICE_CORE_H_
#define SKEIN_CORE_FABRIC_SHM_DEVICE_CORE_H_

#include <memory>

#include "core/fabric/shm/meeting_directory.h"
#include "core/fabric/shm/refusals.h"
#include "core/fabric/shm/regions.h"
#include "core/fabric/shm/rendezvous.h"
#include "core/fabric/shm/shm_device.h"

namespace skein::fabric::shm {

struct DeviceCore {
  explicit DeviceCore(const ShmOptions& shm_options)
      : options(shm_options), rendezvous(options.peer_users, directory) {}
  const ShmOptions options;
  const MeetingDirectory directory{options.rendezvous};
  Rendezvous rendezvous;
  Refusals refusals{options.settle_time};
  const std::shared_ptr<RegionTable> regions = std::make_shared<RegionTable>();
};

// A shared-memory device's; null for another.
std::shared_ptr<DeviceCore> CoreOf(const Device& device);

}  // namespace skein::fabric::shm

#endif  // SKEIN_CORE_FABRIC_SHM_DEVICE_CORE_H_
