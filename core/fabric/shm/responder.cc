// The receiving half.
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/fence.h"
#include "core/fabric/requests.h"
#include "core/fabric/shm/queue_pair.h"

namespace skein::fabric::shm {

absl::Status ShmQueuePair::PostReceive(absl::Span<const ReceiveRequest> batch) {
  if (shared_ != nullptr) return NoOwnReceives();
  for (const ReceiveRequest& request : batch) {
    if (absl::Status status = CheckSegment(request.buffer); !status.ok()) return status;
  }
  {
    MutexLock lock(&receive_mu_);
    if (!ready()) return NotReady();
    if (receives_used_.load(std::memory_order_relaxed) + batch.size() > max_receive_) {
      return absl::ResourceExhaustedError(absl::StrCat("the receive queue of ", max_receive_, " requests has no room"));
    }
    receives_used_.fetch_add(static_cast<uint32_t>(batch.size()), std::memory_order_relaxed);
    const bool was_empty = receives_.empty();
    receives_.insert(receives_.end(), batch.begin(), batch.end());
    mine_->receives.fetch_add(batch.size(), std::memory_order_release);
    // Something may have been waiting for it; whoever sleeps must look.
    if (was_empty && !batch.empty() && !absl::IsNotFound(consumer_->Peek().status())) receive_queue_->WakeIfArmed();
  }
  if (!ready()) {
    Flush();
  } else {
    RingIfWaitsForHead();
  }
  return absl::OkStatus();
}

void ShmQueuePair::ProgressReceives() {
  bool any = false;
  {
    MutexLock lock(&receive_mu_);
    while (ready() && ReceiveOne()) any = true;
  }
  if (any) RingIfWaitsForHead();
}

void ShmQueuePair::RingIfWaitsForHead() {
  // Pairs with the fence in AwaitHead.
  FullFence();
  if (theirs_->waits_for_head.load(std::memory_order_relaxed) != 0 &&
      theirs_->waits_for_head.exchange(0, std::memory_order_relaxed) != 0) {
    Ring();
  }
}

bool ShmQueuePair::ReceiveOne() {
  const absl::StatusOr<Record> record = consumer_->Peek();
  if (absl::IsNotFound(record.status())) return false;
  if (!record.ok() || (record->kind == RecordKind::kImmediate && assembled_ > 0)) {
    Fail(CompletionStatus::kFatal,
         record.ok() ? absl::DataLossError("the peer broke off a SEND in the middle") : record.status(),
         SideState::kBroken);
    return false;
  }
  if (!FindReceive()) return false;
  if (record->kind != RecordKind::kImmediate) return ReceiveFragment(*record);
  consumer_->Pop(*record);
  ReportReceive(*record, CompletionStatus::kSuccess, record->total);
  return true;
}

bool ShmQueuePair::FindReceive() {
  if (receives_.empty() && shared_ != nullptr) {
    if (const auto taken = shared_->Take(this)) receives_.push_back(*taken);
  }
  return !receives_.empty();
}

bool ShmQueuePair::ReceiveFragment(const Record& record) {
  const Segment buffer = receives_.front().buffer;  // a copy: a report takes the request off
  if (record.size > buffer.size - assembled_) {
    ReportReceive(record, CompletionStatus::kLocalLengthError, 0);
    Fail(CompletionStatus::kFlushed,
         absl::InvalidArgumentError(absl::StrCat("a SEND met a receive of only ", buffer.size, " bytes")),
         SideState::kSendTooLong);
    return false;
  }
  consumer_->Copy(record, {buffer.data + assembled_, buffer.size - assembled_});
  consumer_->Pop(record);
  assembled_ += record.size;
  if (record.kind == RecordKind::kLastFragment) {
    ReportReceive(record, CompletionStatus::kSuccess, std::exchange(assembled_, 0));
  }
  return true;
}

void ShmQueuePair::ReportReceive(const Record& record, CompletionStatus status, size_t bytes) {
  const bool immediate = record.kind == RecordKind::kImmediate;
  Completion completion;
  completion.id = receives_.front().id;
  completion.status = status;
  completion.opcode = immediate ? Opcode::kReceiveWithImmediate : Opcode::kReceive;
  completion.immediate = immediate ? record.immediate : 0;
  completion.bytes = bytes;
  completion.queue_pair = this;
  receives_.pop_front();
  receive_queue_->Push(completion, /*sequence=*/0, record.solicited != 0);
}

void ShmQueuePair::FlushReceives() {
  MutexLock lock(&receive_mu_);
  Record none;
  none.kind = RecordKind::kLastFragment;
  while (!receives_.empty()) ReportReceive(none, CompletionStatus::kFlushed, 0);
}

}  // namespace skein::fabric::shm
