// Callers that keep calling for a while, each starting its next call when it has the last one's reply.
#ifndef SKEIN_BENCH_MACRO_LOAD_H_
#define SKEIN_BENCH_MACRO_LOAD_H_

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "bench/macro/echo.grpc.pb.h"

namespace skein::bench {

struct Load {
  int callers = 1;
  size_t bytes = 64;
  absl::Duration duration = absl::Seconds(1);
};

struct Outcome {
  std::vector<absl::Duration> latencies;  // sorted; of every call
  absl::Duration elapsed;
};

// One verified echo.
absl::Status CallOnce(Echo::Stub& stub, const Payload& request);

// A thread per caller, blocking calls.
absl::StatusOr<Outcome> RunSync(Echo::Stub& stub, const Load& load);
// Callers are chains of callbacks on gRPC's own threads.
absl::StatusOr<Outcome> RunCallback(Echo::Stub& stub, const Load& load);

absl::Duration Percentile(const Outcome& outcome, double fraction);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_MACRO_LOAD_H_
