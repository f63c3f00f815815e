#include "grpc_transport/iomgr/connection_trace.h"

#include <vector>

namespace skein::grpc_transport {

void ConnectionTrace::Awaits(SentTimes* times) {
  MutexLock lock(&mu_);
  waiting_.push_back(times);
  awaited_.store(true, std::memory_order_relaxed);
}

void ConnectionTrace::Forget(const SentTimes* times) {
  MutexLock lock(&mu_);
  std::erase(waiting_, times);
  std::erase(going_, times);
}

void ConnectionTrace::BeginWrite() {
  const uint64_t now = trace::Now();
  MutexLock lock(&mu_);
  awaited_.store(false, std::memory_order_relaxed);
  for (SentTimes* times : waiting_) times->queued = now;
  going_.insert(going_.end(), waiting_.begin(), waiting_.end());
  waiting_.clear();
}

void ConnectionTrace::Wrote(const link::Departure& departure) {
  MutexLock lock(&mu_);
  for (SentTimes* times : going_) times->departure = departure;
  going_.clear();
}

}  // namespace skein::grpc_transport
