// Channels in shared memory, to processes on this host.
#ifndef SKEIN_CORE_CHANNEL_SHM_SHM_TRANSPORT_H_
#define SKEIN_CORE_CHANNEL_SHM_SHM_TRANSPORT_H_

#include <memory>

#include "core/channel/channel.h"
#include "core/fabric/fabric.h"

namespace skein::channel {

// On a shared-memory device (OpenShmDevice): peers are met where it meets them, and what the kernel refuses counts
// there: Usable(), and ShmOptions::settle_time. Null for another device.
std::shared_ptr<Transport> ShmTransport(const std::shared_ptr<fabric::Device>& shm_device);

}  // namespace skein::channel

#endif  // SKEIN_CORE_CHANNEL_SHM_SHM_TRANSPORT_H_
