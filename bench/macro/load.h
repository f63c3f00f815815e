// Callers that keep calling for a while.
#ifndef SKEIN_BENCH_MACRO_LOAD_H_
#define SKEIN_BENCH_MACRO_LOAD_H_

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "bench/macro/echo.grpc.pb.h"

namespace skein::bench {

// One per channel; a load's calls take them by turns.
using Stubs = std::vector<std::unique_ptr<Echo::Stub>>;

// Closed loop: each of `callers` calls again when it has its reply. Open loop: `rate` calls a second become due,
// whatever has become of the earlier ones, and a latency counts from when its call was due. Where callers are threads,
// `callers` of them make these calls; else as many calls are under way as it takes.
struct Load {
  int callers = 1;
  size_t bytes = 64;
  absl::Duration duration = absl::Seconds(1);
  double rate = 0;  // 0: closed loop
};

struct Outcome {
  std::vector<absl::Duration> latencies;  // of every call, in no order
  absl::Duration elapsed;
};

// One verified echo.
absl::Status CallOnce(Echo::Stub& stub, const Payload& request);

using Run = absl::StatusOr<Outcome>(const Stubs& stubs, const Load& load);
// A thread per caller, blocking calls.
Run RunSync;
// Callers are chains of callbacks on gRPC's own threads.
Run RunCallback;
// As many threads as processors, each with a completion queue and its share of the callers.
Run RunAsync;
// A thread and a stream per caller; a call is a message there and one back.
Run RunStream;
// Null: there is no such style.
Run* RunOf(absl::string_view style);

// For those who run it.

inline constexpr absl::Duration kCallDeadline = absl::Seconds(20);

// What one caller has seen. Callers share nothing while they run.
struct Record {
  std::vector<absl::Duration> latencies;
  absl::Status status;
};
absl::StatusOr<Outcome> Merge(const std::vector<Record>& records, absl::Duration elapsed);
Payload PayloadOf(size_t bytes);
absl::Status Verify(const grpc::Status& status, const Payload& request, const Payload& reply);
// A thread for each caller.
absl::StatusOr<Outcome> RunThreads(const Load& load, const std::function<void(int caller, Record&)>& body);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_MACRO_LOAD_H_
