#include "tests/sim/fault_completion_queue.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tests/sim/fault_device.h"

namespace skein::chaos {
namespace {

bool IsReceive(const fabric::Completion& completion) {
  return completion.opcode == fabric::Opcode::kReceive || completion.opcode == fabric::Opcode::kReceiveWithImmediate;
}

}  // namespace

FaultCompletionQueue::FaultCompletionQueue(FaultDevice& device, std::unique_ptr<fabric::CompletionQueue> queue)
    : device_(device), queue_(std::move(queue)) {
  ++device_.lent().queues;
}

FaultCompletionQueue::~FaultCompletionQueue() {
  --device_.lent().queues;
  device_.Forget(this);
}

bool FaultCompletionQueue::IsHeld(const Entry& entry) {
  return entry.queue_pair != nullptr && entry.queue_pair->holds_completions();
}

void FaultCompletionQueue::TakeIn() {
  std::array<fabric::Completion, 16> batch;
  while (const size_t count = queue_->Poll(absl::MakeSpan(batch))) {
    for (const fabric::Completion& completion : absl::MakeSpan(batch).first(count)) {
      Entry entry{completion, device_.OuterOf(completion.queue_pair)};
      entry.completion.queue_pair = entry.queue_pair;
      const bool taken = IsReceive(completion) && completion.status == fabric::CompletionStatus::kSuccess;
      if (taken && entry.queue_pair != nullptr && device_.watch() != nullptr) {
        device_.watch()->OnReceived(entry.queue_pair->id());
      }
      entry.late = IsHeld(entry);
      entries_.push_back(entry);
    }
  }
}

size_t FaultCompletionQueue::Poll(absl::Span<fabric::Completion> out) {
  TakeIn();
  size_t count = 0;
  for (auto entry = entries_.begin(); entry != entries_.end() && count < out.size();) {
    if (IsHeld(*entry)) {
      ++entry;
      continue;
    }
    out[count++] = entry->completion;
    if (entry->late && std::exchange(armed_, false)) signaled_ = true;
    entry = entries_.erase(entry);
  }
  return count;
}

// What is there already wakes nobody.
absl::Status FaultCompletionQueue::Arm() {
  for (Entry& entry : entries_) entry.late &= IsHeld(entry);
  armed_ = true;
  return queue_->Arm();
}

void FaultCompletionQueue::Forget(FaultQueuePair* queue_pair) {
  TakeIn();
  // Shared receives would be lost with their completions.
  std::erase_if(entries_, [&](const Entry& entry) {
    const bool kept = queue_pair->shares_receives() && IsReceive(entry.completion);
    return entry.queue_pair == queue_pair && !kept;
  });
  for (Entry& entry : entries_) {
    if (entry.queue_pair == queue_pair) entry.queue_pair = nullptr;
    if (entry.queue_pair == nullptr) entry.completion.queue_pair = nullptr;
  }
}

// What comes late wakes late; also when another than who sleeps takes it.
bool FaultCompletionQueue::WouldWake() {
  return signaled_ || device_.simulation().WouldWake(queue_.get()) ||
         std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) { return !IsHeld(entry); });
}

}  // namespace skein::chaos
