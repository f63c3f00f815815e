#include "core/channel/ring/ring_group.h"

#include <utility>
#include <vector>

#include "core/channel/ring/ring_channel.h"

namespace skein::channel {

absl::StatusOr<std::unique_ptr<RingGroup>> RingGroup::Create(std::shared_ptr<fabric::Device> device) {
  absl::StatusOr<std::unique_ptr<fabric::CompletionQueue>> completions =
      device->CreateCompletionQueue(kSends + kReceives);
  if (!completions.ok()) return completions.status();
  absl::StatusOr<std::unique_ptr<fabric::SharedReceiveQueue>> receives = device->CreateSharedReceiveQueue(kReceives);
  if (!receives.ok()) return receives.status();
  return std::unique_ptr<RingGroup>(new RingGroup(std::move(device), *std::move(completions), *std::move(receives)));
}

absl::StatusOr<std::unique_ptr<Channel>> RingGroup::Open(const ChannelOptions& options) {
  absl::StatusOr<std::unique_ptr<fabric::QueuePair>> queue_pair = device_->CreateQueuePair(queue_pair_options());
  if (!queue_pair.ok()) return queue_pair.status();
  return std::make_unique<RingChannel>(*this, *std::move(queue_pair), options);
}

Transport::Traits RingTransport::traits() const {
  const fabric::DeviceCapabilities capabilities = device_->capabilities();
  Traits traits;
  traits.announces_close = capabilities.announces_close;
  return traits;
}

absl::StatusOr<std::unique_ptr<ChannelGroup>> RingTransport::NewGroup(bool shares_memory) {
  std::shared_ptr<fabric::Device> device = device_;
  if (!shares_memory) {
    absl::StatusOr<std::shared_ptr<fabric::Device>> own = device->ForPeer();
    if (!own.ok()) return own.status();
    if (*own != nullptr) device = *std::move(own);
  }
  return RingGroup::Create(std::move(device));
}

fabric::QueuePairOptions RingGroup::queue_pair_options() const {
  fabric::QueuePairOptions options;
  options.peer_always_receives = true;  // by credits
  options.send_queue = completions_.get();
  options.receive_queue = completions_.get();
  options.max_send_requests = kSends;
  options.max_receive_requests = kReceives;
  options.shared_receive_queue = receives_.get();
  return options;
}

absl::Status RingGroup::PostReceives() {
  return receives_->PostReceive(std::vector<fabric::ReceiveRequest>(kReceives));
}

void RingGroup::SetChannel(RingConnection* channel) {
  MutexLock lock(&mu_);
  channel_ = channel;
}

bool RingGroup::Look() {
  MutexLock lock(&mu_);
  for (size_t count; (count = completions_->Poll(absl::MakeSpan(polled_))) > 0;) {
    for (const fabric::Completion& completion : absl::MakeSpan(polled_).first(count)) {
      const bool receive =
          completion.opcode == fabric::Opcode::kReceiveWithImmediate || completion.opcode == fabric::Opcode::kReceive;
      if (receive) ++receives_to_post_;
      if (channel_ != nullptr) sends_completed_ |= channel_->OnCompletion(completion);
    }
  }
  if (receives_to_post_ >= kSpare) {
    const std::vector<fabric::ReceiveRequest> batch(std::exchange(receives_to_post_, 0));
    if (!receives_->PostReceive(batch).ok() && channel_ != nullptr) channel_->Disconnect();
  }
  return true;  // polling may also have executed the peer's WRITEs, which complete nothing here
}

bool RingGroup::TakeSendsCompleted() {
  MutexLock lock(&mu_);
  return std::exchange(sends_completed_, false);
}

bool RingGroup::sends_completed() {
  MutexLock lock(&mu_);
  return sends_completed_;
}

}  // namespace skein::channel
