// What all channels of one transport share: where peers are met, and what the kernel has refused.
#ifndef SKEIN_CORE_CHANNEL_SHM_TRANSPORT_CORE_H_
#define SKEIN_CORE_CHANNEL_SHM_TRANSPORT_CORE_H_

#include <memory>

#include "core/channel/channel.h"
#include "core/channel/shm/meeting_directory.h"
#include "core/channel/shm/refusals.h"
#include "core/channel/shm/rendezvous.h"
#include "core/channel/shm/shm_options.h"

namespace skein::channel::shm {

struct TransportCore {
  explicit TransportCore(const ShmOptions& shm_options)
      : options(shm_options), rendezvous(options.peer_users, directory) {}
  const ShmOptions options;
  const MeetingDirectory directory{options.rendezvous};
  Rendezvous rendezvous;
  Refusals refusals{options.settle_time};
};

// Of shared memory's transport.
std::shared_ptr<TransportCore> CoreOf(const Transport& transport);

}  // namespace skein::channel::shm

#endif  // SKEIN_CORE_CHANNEL_SHM_TRANSPORT_CORE_H_
