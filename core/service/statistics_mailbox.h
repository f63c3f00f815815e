// By which other threads learn what skeind's thread has counted. That thread answers between two of its rounds, so its
// counters need neither locks nor atomics.
#ifndef SKEIN_CORE_SERVICE_STATISTICS_MAILBOX_H_
#define SKEIN_CORE_SERVICE_STATISTICS_MAILBOX_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/mutex.h"
#include "core/base/unique_fd.h"
#include "core/service/statistics.h"

namespace skein::service {

// Lock: mu_, a leaf. No atomics.
class StatisticsMailbox {
 public:
  static absl::StatusOr<std::shared_ptr<StatisticsMailbox>> Create();

  // Any thread but skeind's. DEADLINE_EXCEEDED: skeind's thread does not answer for so long. UNAVAILABLE: it has ended.
  absl::StatusOr<Statistics> Ask(absl::Duration patience);

  // skeind's thread. The descriptor is readable while somebody asks.
  int fd() const { return asks_.get(); }
  void Answer(absl::FunctionRef<Statistics()> statistics);
  void Close();

 private:
  explicit StatisticsMailbox(UniqueFd asks) : asks_(std::move(asks)) {}

  const UniqueFd asks_;
  Mutex mu_;
  std::condition_variable_any changed_;
  uint64_t asked_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t answered_ ABSL_GUARDED_BY(mu_) = 0;  // of those
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  Statistics latest_ ABSL_GUARDED_BY(mu_);
};

// The skein command may ask for these from now on, as it asks other processes for their metrics: the verbs "metrics",
// and "queue_pairs" for those of virtual queue pairs. Once per process.
void HandleStatistics(std::shared_ptr<StatisticsMailbox> mailbox);

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_STATISTICS_MAILBOX_H_
