// How both ends of calls behave.
#ifndef SKEIN_CORE_RPC_OPTIONS_H_
#define SKEIN_CORE_RPC_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "core/base/options.h"
#include "core/progress/spin_budget.h"
#include "core/stream/connector.h"
#include "core/stream/fabrics.h"

namespace skein::rpc {

struct Options {
  SharedMemoryOptions shm;
  RdmaOptions rdma;
  // Instead of the host's, which the above select.
  std::shared_ptr<stream::Fabrics> fabrics;
  size_t ring_bytes = 1 << 20;  // per link and direction; a message is at most a quarter of it
  uint32_t max_calls = 1024;  // that one connection may have outstanding; the answering end says it, at most kMostCalls
  WaitMode wait_mode = WaitMode::kHybrid;
  absl::Duration spin_time = absl::Microseconds(50);  // of a wait, before it sleeps
  absl::Duration negotiation_timeout = absl::Seconds(1);
  bool coalesce = true;  // false: every message by itself, to measure what coalescing gives
};

inline constexpr uint32_t kMostCalls = 1 << 14;

stream::StreamOptions StreamOptionsOf(const Options& options);
// A client and a server call this before their first link. It marks the process for children that it forks
// (core/base/forked.h).
std::shared_ptr<stream::Fabrics> FabricsOf(const Options& options);
progress::SpinPolicy SpinPolicyOf(const Options& options);

}  // namespace skein::rpc

#endif  // SKEIN_CORE_RPC_OPTIONS_H_
