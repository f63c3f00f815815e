// Records that are kept one by one, for who wants to look at calls rather than at their figures.
#ifndef SKEIN_CORE_TRACE_RECORDING_H_
#define SKEIN_CORE_TRACE_RECORDING_H_

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/trace/record.h"

namespace skein::trace {

// Any thread.
class Recording {
 public:
  static constexpr size_t kMost = 30'000;  // 5 MB; as text ten times that, or fifty, as peers name methods

  void Begin(size_t most) {
    MutexLock lock(&mu_);
    records_.clear();
    most_ = std::min(most, kMost);
  }
  std::vector<Record> End() {
    MutexLock lock(&mu_);
    most_ = 0;
    return std::exchange(records_, {});
  }
  void Add(const Record& record) {
    MutexLock lock(&mu_);
    if (records_.size() < most_) records_.push_back(record);
  }

 private:
  Mutex mu_;
  size_t most_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<Record> records_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_RECORDING_H_
