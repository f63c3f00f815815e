#include "core/channel/shm/shm_group.h"

#include <algorithm>
#include <utility>

#include "core/channel/shm/shm_channel.h"
#include "core/channel/shm/wakeup_pipe.h"

namespace skein::channel::shm {

absl::StatusOr<std::unique_ptr<ShmGroup>> ShmGroup::Create(std::shared_ptr<TransportCore> core) {
  std::unique_ptr<ShmGroup> group(new ShmGroup(std::move(core)));
  absl::StatusOr<UniqueFd> opened = absl::ResourceExhaustedError("");
  if (MayHaveWakeupPipes()) opened = CreateWakeupPipe();
  const absl::Status status = opened.ok() ? group->sleep_.Open(*std::move(opened)) : group->sleep_.Open();
  if (!status.ok()) return status;
  return group;
}

absl::StatusOr<std::unique_ptr<Channel>> ShmGroup::Open(const ChannelOptions& options) {
  const size_t bytes = options.ring_bytes;
  if (bytes == 0 || bytes % wire::kRingGranule != 0 || bytes > wire::kMaxRingBytes) {
    return absl::InvalidArgumentError("a channel of an impossible size");
  }
  return std::make_unique<ShmChannel>(*this, core_, options);
}

void ShmGroup::Add(ShmConnection* channel) {
  MutexLock lock(&mu_);
  channels_.push_back(channel);
}

void ShmGroup::Remove(ShmConnection* channel) {
  MutexLock lock(&mu_);
  channels_.erase(std::remove(channels_.begin(), channels_.end(), channel), channels_.end());
}

absl::Status ShmGroup::Arm() {
  MutexLock lock(&mu_);
  for (ShmConnection* const channel : channels_) channel->GoToSleep();
  return absl::OkStatus();
}

bool ShmGroup::Disarm() {
  MutexLock lock(&mu_);
  bool awake = true;
  for (ShmConnection* const channel : channels_) awake &= channel->StayAwake();
  return awake;
}

void ShmGroup::Acknowledge(bool all) {
  MutexLock lock(&mu_);
  // A notification explains why the sleeper is awake, and peers count what they send by the socket. If the socket has
  // ended as well, the next sleep is over at once.
  const bool explained = sleep_.Acknowledge();
  for (ShmConnection* const channel : channels_) channel->Acknowledge(all || !explained);
}

}  // namespace skein::channel::shm
