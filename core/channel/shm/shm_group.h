// The channels of one link in shared memory, and what its sleeper sleeps on: this end's notification, their sockets,
// and what else is watched. At most one channel at a time is of use; it does not take more.
#ifndef SKEIN_CORE_CHANNEL_SHM_SHM_GROUP_H_
#define SKEIN_CORE_CHANNEL_SHM_SHM_GROUP_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "core/base/mutex.h"
#include "core/channel/channel.h"
#include "core/channel/shm/transport_core.h"
#include "core/fabric/sleep_descriptor.h"

namespace skein::channel::shm {

class ShmConnection;

// Lock: mu_, before the channels' and the sleep descriptor's.
class ShmGroup final : public ChannelGroup {
 public:
  static absl::StatusOr<std::unique_ptr<ShmGroup>> Create(std::shared_ptr<TransportCore> core);

  absl::StatusOr<std::unique_ptr<Channel>> Open(const ChannelOptions& options) override;
  const std::shared_ptr<fabric::Device>& device() const override { return no_device_; }

  // Takes nothing: each channel sees in its memory what became of its peer.
  bool Look() override { return false; }

  absl::Status Arm() override ABSL_LOCKS_EXCLUDED(mu_);
  bool Disarm() override ABSL_LOCKS_EXCLUDED(mu_);
  int fd() const override { return sleep_.fd(); }
  void Wake() override { sleep_.Wake(); }
  absl::Status Watch(int fd) override { return sleep_.Watch(fd); }
  void Forget(int fd) override { sleep_.Forget(fd); }
  void AckEvents() override { Acknowledge(/*all=*/false); }
  void AckAllEvents() override { Acknowledge(/*all=*/true); }
  fabric::CompletionQueue::Woken Sleep(int also, int timeout_ms) override { return sleep_.Sleep(also, timeout_ms); }

  // By its channels. A channel is told of its sleeper from Add until Remove.
  void Add(ShmConnection* channel) ABSL_LOCKS_EXCLUDED(mu_);
  void Remove(ShmConnection* channel) ABSL_LOCKS_EXCLUDED(mu_);
  // The pipe that wakes this end; -1: there is none.
  int wakeup_pipe() const { return sleep_.pipe(); }

 private:
  explicit ShmGroup(std::shared_ptr<TransportCore> core) : core_(std::move(core)) {}
  void Acknowledge(bool all) ABSL_LOCKS_EXCLUDED(mu_);

  const std::shared_ptr<TransportCore> core_;
  const std::shared_ptr<fabric::Device> no_device_;
  fabric::SleepDescriptor sleep_;
  Mutex mu_;
  absl::InlinedVector<ShmConnection*, 2> channels_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::channel::shm

#endif  // SKEIN_CORE_CHANNEL_SHM_SHM_GROUP_H_
