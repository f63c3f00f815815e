#include "core/link/queues.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "core/link/lane.h"

namespace skein::link {

absl::StatusOr<std::unique_ptr<Queues>> Queues::Create(fabric::Device& device, uint32_t lanes) {
  absl::StatusOr<std::unique_ptr<fabric::CompletionQueue>> completions =
      device.CreateCompletionQueue(lanes * (kSends + kReceives));
  if (!completions.ok()) return completions.status();
  // Where posts copy, it is the receiver's processor that takes each message off a shared queue: not worth it.
  if (device.capabilities().copies_on_post) {
    return std::unique_ptr<Queues>(new Queues(*std::move(completions), nullptr));
  }
  absl::StatusOr<std::unique_ptr<fabric::SharedReceiveQueue>> receives =
      device.CreateSharedReceiveQueue(lanes * kReceives);
  if (!receives.ok()) return receives.status();
  return std::unique_ptr<Queues>(new Queues(*std::move(completions), *std::move(receives)));
}

fabric::QueuePairOptions Queues::options() const {
  fabric::QueuePairOptions options;
  options.peer_always_receives = true;  // by credits
  options.send_queue = completions_.get();
  options.receive_queue = completions_.get();
  options.max_send_requests = kSends;
  options.max_receive_requests = kReceives;
  options.shared_receive_queue = receives_.get();
  return options;
}

absl::Status Queues::PostReceives(fabric::QueuePair& queue_pair) {
  const std::vector<fabric::ReceiveRequest> batch(kReceives);
  if (receives_ == nullptr) return queue_pair.PostReceive(batch);
  MutexLock lock(&mu_);
  if (lanes_provided_ == 0) return receives_->PostReceive(batch);
  --lanes_provided_;
  return absl::OkStatus();
}

void Queues::TakeBackReceives() {
  MutexLock lock(&mu_);
  ++lanes_provided_;
}

void Queues::Add(Lane* lane) {
  MutexLock lock(&mu_);
  lanes_.push_back(lane);
}

void Queues::Remove(Lane* lane) {
  MutexLock lock(&mu_);
  lanes_.erase(absl::c_find(lanes_, lane));
}

void Queues::Poll() {
  MutexLock lock(&mu_);
  for (size_t count; (count = completions_->Poll(absl::MakeSpan(polled_))) > 0;) {
    for (const fabric::Completion& completion : absl::MakeSpan(polled_).first(count)) {
      const auto lane =
          absl::c_find_if(lanes_, [&](const Lane* l) { return l->queue_pair() == completion.queue_pair; });
      const bool receive =
          completion.opcode == fabric::Opcode::kReceiveWithImmediate || completion.opcode == fabric::Opcode::kReceive;
      if (receive && receives_ != nullptr) ++receives_to_post_;
      if (lane == lanes_.end()) continue;  // of one that was closed
      sends_completed_ |= (*lane)->OnCompletion(completion);
    }
  }
  if (receives_ == nullptr) {
    for (Lane* lane : lanes_) lane->Repost(kSpare);
  } else if (receives_to_post_ >= kSpare) {
    const std::vector<fabric::ReceiveRequest> batch(std::exchange(receives_to_post_, 0));
    if (receives_->PostReceive(batch).ok()) return;
    for (Lane* lane : lanes_) lane->Disconnect();
  }
}

bool Queues::TakeSendsCompleted() {
  MutexLock lock(&mu_);
  return std::exchange(sends_completed_, false);
}

bool Queues::sends_completed() {
  MutexLock lock(&mu_);
  return sends_completed_;
}

}  // namespace skein::link
