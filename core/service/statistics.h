// What skeind has counted, as of one moment: for metrics and `skein top --service`.
#ifndef SKEIN_CORE_SERVICE_STATISTICS_H_
#define SKEIN_CORE_SERVICE_STATISTICS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/metric_family.h"

namespace skein::service {

// What has gone through a virtual queue pair, or through several.
struct Traffic {
  uint64_t requests = 0;       // handed to the device
  uint64_t request_bytes = 0;  // that these moved, in either direction
  uint64_t arrivals = 0;       // WRITEs of the peer with an immediate
  uint64_t arrived_bytes = 0;

  Traffic& operator+=(const Traffic& more) {
    requests += more.requests;
    request_bytes += more.request_bytes;
    arrivals += more.arrivals;
    arrived_bytes += more.arrived_bytes;
    return *this;
  }
};

// All sessions of one process.
struct ProcessStatistics {
  uid_t user = 0;
  pid_t process = 0;  // 0: of a pid namespace that skeind does not see
  uint64_t sessions = 0;
  uint64_t queue_pairs = 0;
  uint64_t registered_bytes = 0;
  uint64_t under_way = 0;
  uint64_t refusals = 0;
  Traffic traffic;

  ProcessStatistics& operator+=(const ProcessStatistics& more);
};

// All trunks to one host.
struct PeerStatistics {
  std::string host;
  uint64_t trunks = 0;
  uint64_t queue_pairs = 0;
  uint64_t under_way = 0;
  uint64_t waits = 0;  // of queue pairs, for space
};

struct QueuePairStatistics {
  uid_t user = 0;
  pid_t process = 0;
  uint32_t number = 0;
  std::string peer;  // its host; empty: it is not connected
  uint64_t under_way = 0;
  Traffic traffic;
};

struct Statistics {
  uint64_t turns = 0;
  uint64_t sleeps = 0;
  uint64_t wakes = 0;
  uint64_t sessions_refused = 0;
  ProcessStatistics ended;                   // what processes that have left had done
  std::vector<ProcessStatistics> processes;  // one of each
  std::vector<PeerStatistics> peers;         // one of each
  std::vector<QueuePairStatistics> queue_pairs;
};

// Of the processes and queue pairs that did most, so that an answer stays within what the skein command takes
// (inspect::AskMetrics).
inline constexpr size_t kMostProcessesTold = 1000;
inline constexpr size_t kMostPeersTold = 2000;
inline constexpr size_t kMostQueuePairsTold = 4000;
// All but queue pairs.
trace::MetricFamilies MetricsOf(Statistics statistics);
trace::MetricFamilies QueuePairMetricsOf(std::vector<QueuePairStatistics> queue_pairs);

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_STATISTICS_H_
