// What has become of the calls of a load.
#ifndef SKEIN_TESTS_LOAD_TALLY_H_
#define SKEIN_TESTS_LOAD_TALLY_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace skein::load {

// Any thread.
class Tally {
 public:
  // While it lives, something is under way that is to end by `deadline`, of Elapsed()'s clock.
  class Underway {
   public:
    Underway(Tally& tally, absl::Duration deadline);
    ~Underway();
    Underway(const Underway&) = delete;
    Underway& operator=(const Underway&) = delete;

   private:
    Tally& tally_;
    std::multiset<absl::Duration>::const_iterator due_;
  };

  // A call that has ended, "OK" or otherwise, for the reason `why`; `late` after its deadline.
  void Ended(const std::string& status, const std::string& why, absl::Duration took, absl::Duration late,
             uint64_t bytes) ABSL_LOCKS_EXCLUDED(mu_);
  // A call went well over `path`: "rdma:rxe0/1", "tcp: why not better".
  void Over(absl::string_view path) ABSL_LOCKS_EXCLUDED(mu_);
  // Bytes came that nobody had sent: whatever else is said of the call, this must never be.
  void Wrong(absl::string_view what) ABSL_LOCKS_EXCLUDED(mu_);

  // As JSON: what has ended, and was wrong, since the last report. late_ms: also of what has not ended yet. why: the
  // last reason of each status that had one.
  //   {"statuses": {"OK": 7, "NOT_OPEN": 1}, "why": {"NOT_OPEN": "no route"}, "paths": {"shm": 7}, "wrong": 0,
  //    "what": "", "late_ms": 0.1, "p50_us": 50.0, "p99_us": 99.0, "bytes": 1234}
  std::string Report() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  absl::Mutex mu_;
  std::multiset<absl::Duration> due_ ABSL_GUARDED_BY(mu_);  // deadlines of what is under way
  std::map<std::string, uint64_t> statuses_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::string> why_ ABSL_GUARDED_BY(mu_);  // by status
  std::map<std::string, uint64_t> paths_ ABSL_GUARDED_BY(mu_);
  std::vector<absl::Duration> times_ ABSL_GUARDED_BY(mu_);  // of those that were OK
  absl::Duration late_ ABSL_GUARDED_BY(mu_);
  uint64_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t wrong_ ABSL_GUARDED_BY(mu_) = 0;
  std::string what_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::load

#endif  // SKEIN_TESTS_LOAD_TALLY_H_
