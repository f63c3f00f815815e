// What one run measures: the client decides, the server is told.
#ifndef SKEIN_BENCH_MICRO_PLAN_H_
#define SKEIN_BENCH_MICRO_PLAN_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace skein::bench {

struct Plan {
  std::string over = "stream";      // stream: a stream over the fabric; write: RDMA's WRITEs; tcp: sockets
  std::string fabric = "shm";       // shm | rdma | skeind; nothing to tcp
  std::string measure = "latency";  // latency | bandwidth
  uint64_t bytes = 64;              // of a message
  uint64_t count = 1000;            // messages, or round trips
};

// INVALID_ARGUMENT names the flag and what is allowed.
absl::Status Check(const Plan& plan);

// As it is told to the server.
std::string ToText(const Plan& plan);
absl::StatusOr<Plan> PlanFromText(absl::string_view text);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_MICRO_PLAN_H_
