#include "core/link/memory_operation.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "core/link/lane.h"

namespace skein::link {

absl::Status MemoryOperations::Begin(MemoryOperation& operation) {
  MutexLock lock(&mu_);
  if (under_way_.size() >= kMost) {
    return absl::ResourceExhaustedError(absl::StrCat(kMost, " operations on the peer's memory are under way"));
  }
  operation.request.id = kIdBit | ++last_;
  operation.request.local = {&operation.local, 1};
  operation.request.signaled = true;
  under_way_[operation.request.id] = &operation;
  return absl::OkStatus();
}

void MemoryOperations::TakeBack(const MemoryOperation& operation) {
  MutexLock lock(&mu_);
  under_way_.erase(operation.request.id);
}

void MemoryOperations::OnCompletion(const fabric::Completion& completion) {
  MemoryOperation* operation = nullptr;
  {
    MutexLock lock(&mu_);
    const auto found = under_way_.find(completion.id);
    if (found == under_way_.end()) return;
    operation = found->second;
    under_way_.erase(found);
  }
  operation->OnDone(completion.status);
}

void MemoryOperations::FlushAll() {
  absl::flat_hash_map<uint64_t, MemoryOperation*> all;
  {
    MutexLock lock(&mu_);
    all.swap(under_way_);
  }
  for (const auto& [id, operation] : all) operation->OnDone(fabric::CompletionStatus::kFlushed);
}

absl::Status Lane::Operate(MemoryOperation& operation) {
  auto& queue = memory_.queue();
  if (queue.Join(operation) == coalesce::Turn::kDone) return operation.posted;
  auto batch = queue.Gather(operation, MemoryOperations::kMaxBatch, [](const MemoryOperation&) { return true; });
  {
    MutexLock lock(&mu_);
    PostOperations(batch);
  }
  // Read before OnDone can have ended it? It cannot: whoever waits for it is this thread.
  absl::Status posted = operation.posted;
  queue.Finish(batch);
  return posted;
}

void Lane::PostOperations(coalesce::Batch<MemoryOperation>& batch) {
  std::array<fabric::SendRequest, MemoryOperations::kMaxBatch> requests;
  size_t count = 0;
  for (MemoryOperation& operation : batch) {
    operation.posted = error_.ok() ? memory_.Begin(operation) : error_;
    if (operation.posted.ok()) requests[count++] = operation.request;
  }
  if (count == 0) return;
  const absl::Span<const fabric::SendRequest> all(requests.data(), count);
  absl::Status status = queue_pair_->PostSend(all);
  if (absl::IsResourceExhausted(status)) {
    queues_.Poll();  // completions make room in the send queue
    status = queue_pair_->PostSend(all);
  }
  if (status.ok()) return;
  for (MemoryOperation& operation : batch) {
    if (!operation.posted.ok()) continue;
    memory_.TakeBack(operation);
    operation.posted = status;
  }
}

}  // namespace skein::link
