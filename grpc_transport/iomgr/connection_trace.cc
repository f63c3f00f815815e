#include "grpc_transport/iomgr/connection_trace.h"

#include "core/wire/message.h"

namespace skein::grpc_transport {
namespace {

constexpr uint64_t kAWhile = 60'000'000'000;

}  // namespace

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

link::Arrival ConnectionTrace::arrival() const {
  MutexLock lock(&mu_);
  return arrival_;
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

void ConnectionTrace::Came(const link::Arrival& arrival, uint64_t now) {
  const bool traced = wire::SenderTraces(arrival.posted);
  MutexLock lock(&mu_);
  if (traced) peer_traced_ = now;
  peer_traces_.store(traced || (peer_traces() && now - peer_traced_ < kAWhile), std::memory_order_relaxed);
  arrival_ = arrival;
}

void ConnectionTrace::AddSample(const trace::ClockSample& sample) {
  MutexLock lock(&mu_);
  clock_.Add(sample);
}

std::optional<trace::ClockEstimate> ConnectionTrace::PeerClock() const {
  MutexLock lock(&mu_);
  return clock_.EstimateAt(trace::Now());
}

}  // namespace skein::grpc_transport
