#include "core/channel/memory_operation.h"

#include "absl/strings/str_cat.h"

namespace skein::channel {

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

}  // namespace skein::channel
