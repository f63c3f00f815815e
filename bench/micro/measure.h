// The two questions: how long does one message take, and how many bytes pass in a second?
#ifndef SKEIN_BENCH_MICRO_MEASURE_H_
#define SKEIN_BENCH_MICRO_MEASURE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/micro/plan.h"
#include "bench/micro/socket.h"

namespace skein::bench {

// The client's end; what it found, as one line of JSON. Latencies are half of round trips.
absl::StatusOr<std::string> Measure(const Plan& plan, Socket& control);

// The server's end of one client's measurement.
absl::Status Serve(Socket& control);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_MICRO_MEASURE_H_
