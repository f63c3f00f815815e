// The transport that a plan asks for.
#ifndef SKEIN_BENCH_MICRO_OPEN_H_
#define SKEIN_BENCH_MICRO_OPEN_H_

#include <memory>

#include "absl/status/statusor.h"
#include "bench/micro/plan.h"
#include "bench/micro/socket.h"
#include "bench/micro/transport.h"

namespace skein::bench {

// Both ends call it, one as the client; `control` outlives the transport. SKEIN_RDMA_* and the sizes of rings and
// windows are taken from the environment.
absl::StatusOr<std::unique_ptr<Transport>> Open(const Plan& plan, Socket& control, bool client);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_MICRO_OPEN_H_
