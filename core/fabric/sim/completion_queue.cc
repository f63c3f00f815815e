#include "core/fabric/sim/completion_queue.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/fabric/sim/endpoint.h"

namespace skein::fabric::sim {

size_t SimCompletionQueue::Poll(absl::Span<Completion> out) {
  MutexLock lock(&world_->mu);
  const size_t count = std::min(out.size(), entries_.size());
  for (size_t i = 0; i < count; ++i) {
    Entry& entry = entries_.front();
    out[i] = entry.completion;
    entry.endpoint->Reaped(entry.sequence);
    entries_.pop_front();
  }
  return count;
}

absl::Status SimCompletionQueue::Arm() {
  MutexLock lock(&world_->mu);
  // What is in the queue already does not wake anybody: the contract leaves that open, so this is the case to test.
  armed_ = true;
  return absl::OkStatus();
}

void SimCompletionQueue::Wake() {
  MutexLock lock(&world_->mu);
  signaled_ = true;
}

void SimCompletionQueue::AckEvents() {
  MutexLock lock(&world_->mu);
  signaled_ = false;
}

void SimCompletionQueue::Push(Entry entry) {
  if (entries_.size() >= capacity_) {
    // An event of its own: whoever reports is in the middle of the endpoint's state.
    world_->events.After(absl::ZeroDuration(), [endpoint = entry.endpoint, capacity = capacity_] {
      endpoint->Fail(CompletionStatus::kFatal,
                     absl::ResourceExhaustedError(absl::StrCat("completion queue of ", capacity, " overran")));
    });
  }
  entries_.push_back(std::move(entry));
  signaled_ |= std::exchange(armed_, false);
}

void SimCompletionQueue::Forget(const Endpoint* endpoint) {
  std::erase_if(entries_, [&](const Entry& entry) {
    return entry.endpoint.get() == endpoint && !(endpoint->shares_receives() && entry.sequence == 0);
  });
  for (Entry& entry : entries_) {
    if (entry.endpoint.get() == endpoint) entry.completion.queue_pair = nullptr;
  }
}

}  // namespace skein::fabric::sim
