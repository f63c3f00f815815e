// What a link's channel and its sleeper share: the completion queue; and the receives.
#ifndef SKEIN_CORE_CHANNEL_RING_RING_GROUP_H_
#define SKEIN_CORE_CHANNEL_RING_RING_GROUP_H_

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "core/channel/channel.h"
#include "core/channel/ring/ring_writer.h"
#include "core/fabric/fabric.h"
#include "core/schedule/credits.h"

namespace skein::channel {

class RingConnection;

// Lock: mu_, the last of a link's; the channel's OnCompletion is called under it.
class RingGroup final : public ChannelGroup {
 public:
  static absl::StatusOr<std::unique_ptr<RingGroup>> Create(std::shared_ptr<fabric::Device> device);

  absl::StatusOr<std::unique_ptr<Channel>> Open(const ChannelOptions& options) override;
  const std::shared_ptr<fabric::Device>& device() const override { return device_; }

  bool Look() override ABSL_LOCKS_EXCLUDED(mu_);
  bool TakeSendsCompleted() override ABSL_LOCKS_EXCLUDED(mu_);
  bool sends_completed() override ABSL_LOCKS_EXCLUDED(mu_);

  absl::Status Arm() override { return completions_->Arm(); }
  bool Disarm() override { return completions_->Disarm(); }
  int fd() const override { return completions_->fd(); }
  void Wake() override { completions_->Wake(); }
  absl::Status Watch(int fd) override { return completions_->Watch(fd); }
  void Forget(int fd) override { completions_->Forget(fd); }
  void AckEvents() override { completions_->AckEvents(); }
  void AckAllEvents() override { completions_->AckAllEvents(); }
  fabric::CompletionQueue::Woken Sleep(int also, int timeout_ms) override {
    return completions_->Sleep(also, timeout_ms);
  }

  // What the peer's credits allow on the way, and notifications of control lines, which cost none. At most two of these
  // can be due in a turn of this end's poller, which has to heed one of the peer's lines and to tell of it: an answer
  // on credits, and one on what is consumed. It looks at the completion queue at least every eighth turn. A sender that
  // heeds a line in the poller's stead looks there at once.
  static constexpr uint32_t kNeeded = 2 * schedule::kDefaultCredits + schedule::kReservedCredits + 16;
  // So many are posted besides, and again together when they are used up: of those above none is missing meanwhile.
  static constexpr uint32_t kSpare = kNeeded / 3;
  static constexpr uint32_t kReceives = kNeeded + kSpare;

  // For CreateQueuePair.
  fabric::QueuePairOptions queue_pair_options() const;
  // Who is told of completions; null: nobody.
  void SetChannel(RingConnection* channel) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status PostReceives();

 private:
  RingGroup(std::shared_ptr<fabric::Device> device, std::unique_ptr<fabric::CompletionQueue> completions,
            std::unique_ptr<fabric::SharedReceiveQueue> receives)
      : device_(std::move(device)), completions_(std::move(completions)), receives_(std::move(receives)) {}

  const std::shared_ptr<fabric::Device> device_;
  const std::unique_ptr<fabric::CompletionQueue> completions_;
  const std::unique_ptr<fabric::SharedReceiveQueue> receives_;
  Mutex mu_;
  // Space for one look: to clear it costs more than the look.
  std::array<fabric::Completion, 32> polled_ ABSL_GUARDED_BY(mu_);
  RingConnection* channel_ ABSL_GUARDED_BY(mu_) = nullptr;
  bool sends_completed_ ABSL_GUARDED_BY(mu_) = false;
  size_t receives_to_post_ ABSL_GUARDED_BY(mu_) = 0;
};

// Rings on a device's queue pairs.
class RingTransport final : public Transport {
 public:
  explicit RingTransport(std::shared_ptr<fabric::Device> device) : device_(std::move(device)) {}

  absl::string_view name() const override { return device_->name(); }
  Traits traits() const override;
  absl::Status Usable() const override { return device_->Usable(); }
  absl::StatusOr<std::unique_ptr<ChannelGroup>> NewGroup(bool shares_memory) override;
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> Allocate(size_t bytes, uint32_t access) override {
    return device_->Allocate(bytes, access);
  }
  std::shared_ptr<fabric::Device> device() const override { return device_; }

 private:
  const std::shared_ptr<fabric::Device> device_;
};

}  // namespace skein::channel

#endif  // SKEIN_CORE_CHANNEL_RING_RING_GROUP_H_
