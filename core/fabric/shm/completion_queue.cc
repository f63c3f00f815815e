#include "core/fabric/shm/completion_queue.h"

#include <algorithm>
#include <utility>

#include "core/fabric/shm/queue_pair.h"

namespace skein::fabric::shm {
absl::StatusOr<std::unique_ptr<ShmCompletionQueue>> ShmCompletionQueue::Create() {
  std::unique_ptr<ShmCompletionQueue> queue(new ShmCompletionQueue);
  if (absl::Status status = queue->sleep_.Open(); !status.ok()) return status;
  return queue;
}

size_t ShmCompletionQueue::Poll(absl::Span<Completion> out) {
  MutexLock members(&members_mu_);
  {
    MutexLock lock(&ready_mu_);
    polling_ = true;
  }
  for (ShmQueuePair* member : members_) member->Progress();
  MutexLock lock(&ready_mu_);
  polling_ = false;
  const size_t count = std::min(out.size(), ready_.size());
  for (size_t i = 0; i < count; ++i) {
    out[i] = ready_.front().completion;
    auto* const queue_pair = static_cast<ShmQueuePair*>(out[i].queue_pair);
    if (queue_pair != nullptr) queue_pair->Reaped(ready_.front().sequence);
    ready_.pop_front();
  }
  return count;
}

absl::Status ShmCompletionQueue::Arm(WakeFor what) {
  MutexLock members(&members_mu_);
  {
    MutexLock lock(&ready_mu_);
    if (armed_ == WakeFor::kCompletions) what = WakeFor::kCompletions;
    armed_ = what;
  }
  for (ShmQueuePair* member : members_) member->Arm(this, what);
  return absl::OkStatus();
}

bool ShmCompletionQueue::Disarm() {
  MutexLock members(&members_mu_);
  bool rung = false;
  {
    MutexLock lock(&ready_mu_);
    rung = !std::exchange(armed_, std::nullopt).has_value();
  }
  for (ShmQueuePair* member : members_) rung |= member->Disarm(this);
  return !rung;
}

void ShmCompletionQueue::Acknowledge(bool all) {
  MutexLock members(&members_mu_);
  sleep_.Acknowledge();
  for (ShmQueuePair* member : members_) member->DrainSocket(this, all);
}

void ShmCompletionQueue::SignalIfArmed() {
  if (std::exchange(armed_, std::nullopt).has_value()) sleep_.Wake();
}

void ShmCompletionQueue::Push(const Completion& completion, uint64_t sequence, bool solicited) {
  MutexLock lock(&ready_mu_);
  ready_.push_back({completion, sequence});
  solicited |= completion.status != CompletionStatus::kSuccess;
  if (!polling_ && (solicited || armed_ == WakeFor::kCompletions)) SignalIfArmed();
}

void ShmCompletionQueue::WakeIfArmed() {
  MutexLock lock(&ready_mu_);
  SignalIfArmed();
}

void ShmCompletionQueue::Attach(ShmQueuePair* queue_pair) {
  MutexLock lock(&members_mu_);
  members_.push_back(queue_pair);
}

uint32_t ShmCompletionQueue::Detach(ShmQueuePair* queue_pair, bool keep_receives) {
  MutexLock members(&members_mu_);
  members_.erase(std::remove(members_.begin(), members_.end(), queue_pair), members_.end());
  MutexLock lock(&ready_mu_);
  std::erase_if(ready_, [&](const Ready& ready) {
    return ready.completion.queue_pair == queue_pair && !(keep_receives && ready.sequence == 0);
  });
  uint32_t kept = 0;
  for (Ready& ready : ready_) {
    if (ready.completion.queue_pair != queue_pair) continue;
    ready.completion.queue_pair = nullptr;
    ++kept;
  }
  return kept;
}

}  // namespace skein::fabric::shm
