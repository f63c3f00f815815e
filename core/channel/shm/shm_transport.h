// Channels in shared memory, to processes on this host: of one user, or of users that allow each other.
#ifndef SKEIN_CORE_CHANNEL_SHM_SHM_TRANSPORT_H_
#define SKEIN_CORE_CHANNEL_SHM_SHM_TRANSPORT_H_

#include <memory>

#include "core/channel/channel.h"
#include "core/channel/shm/shm_options.h"

namespace skein::channel {

// Costs nothing until the first Offer. It is not Usable() any more once the kernel has refused this process something
// in the midst of a connection with a process of its own user. A refusal with a peer of another user counts for that
// user alone: see ShmOptions::settle_time. The refusals of the transport's channels are FallbackError()s that say which
// boundary lies between the processes.
std::shared_ptr<Transport> OpenShm(const ShmOptions& options = {});

}  // namespace skein::channel

#endif  // SKEIN_CORE_CHANNEL_SHM_SHM_TRANSPORT_H_
