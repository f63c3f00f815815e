// Callers of durable and of plain calls, and what their load comes to: the same of both frameworks.
#ifndef SKEIN_BENCH_DURABLE_CALLS_LOAD_H_
#define SKEIN_BENCH_DURABLE_CALLS_LOAD_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/declare.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

ABSL_DECLARE_FLAG(bool, skein);
ABSL_DECLARE_FLAG(std::string, log);
ABSL_DECLARE_FLAG(std::vector<std::string>, replicas);

namespace skein::bench {

// From the start of each call. Of plain calls none are `persisted`, and the level is empty.
struct CallTimes {
  std::vector<absl::Duration> replied;
  std::vector<absl::Duration> persisted;
  std::string level;
};

// One thread's.
class Caller {
 public:
  virtual ~Caller() = default;
  // One call, and its times. Throws std::runtime_error.
  virtual void Call(const std::string& payload, CallTimes& times) = 0;
};

// Calls on --callers threads for --duration, each by a Caller of its own, after a warm-up; prints the figures. Returns
// the exit status.
int MeasureCalls(const std::function<std::unique_ptr<Caller>()>& make);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_DURABLE_CALLS_LOAD_H_
