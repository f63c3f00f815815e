// How much memory this process has registered: the kernel locks it, and a NIC's translation tables grow with it.
#ifndef SKEIN_CORE_FABRIC_VERBS_MEMORY_BUDGET_H_
#define SKEIN_CORE_FABRIC_VERBS_MEMORY_BUDGET_H_

#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/mutex.h"
#include "core/trace/counters.h"

namespace skein::fabric::verbs {

// Any thread. Outlives its shares.
class MemoryBudget {
 public:
  // Bytes taken from the budget, given back when this goes.
  class Share {
   public:
    Share(MemoryBudget* budget, uint64_t bytes) : budget_(budget), bytes_(bytes) {}
    Share(Share&& other) noexcept : budget_(std::exchange(other.budget_, nullptr)), bytes_(other.bytes_) {}
    Share& operator=(Share&&) = delete;
    ~Share() {
      if (budget_ != nullptr) budget_->Give(bytes_);
    }

   private:
    MemoryBudget* budget_;
    const uint64_t bytes_;
  };

  // The one of this process.
  static MemoryBudget& OfProcess() {
    static auto* const budget = new MemoryBudget;
    return *budget;
  }

  // RESOURCE_EXHAUSTED when more than `limit` bytes would be in use.
  absl::StatusOr<Share> Take(uint64_t bytes, uint64_t limit) {
    MutexLock lock(&mu_);
    if (used_ > limit || bytes > limit - used_) {
      return absl::ResourceExhaustedError(absl::StrCat("cannot register ", bytes, " bytes: of the ", limit,
                                                       " that skein.rdma_memory allows this process, ", used_,
                                                       " are in use"));
    }
    used_ += bytes;
    trace::Change(trace::Counter::kRegisteredBytes, static_cast<int64_t>(bytes));
    return Share(this, bytes);
  }

 private:
  void Give(uint64_t bytes) {
    MutexLock lock(&mu_);
    used_ -= bytes;
    trace::Change(trace::Counter::kRegisteredBytes, -static_cast<int64_t>(bytes));
  }

  Mutex mu_;
  uint64_t used_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace skein::fabric::verbs

#endif  // SKEIN_CORE_FABRIC_VERBS_MEMORY_BUDGET_H_
