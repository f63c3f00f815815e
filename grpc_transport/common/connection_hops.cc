#include "grpc_transport/common/connection_hops.h"

#include "core/wire/message.h"
#include "grpc_transport/common/negotiation.h"

namespace skein::grpc_transport {
namespace {

using trace::At;
using trace::Stage;

constexpr uint64_t kAWhile = 60'000'000'000;

void AddServer(const ServerTimes& server, uint64_t reply_posted, trace::StageTimes& times) {
  At(times, Stage::kArrived) = server.arrived;
  At(times, Stage::kDispatched) = server.dispatched;
  At(times, Stage::kHandlerStart) = server.handler_start;
  At(times, Stage::kHandlerEnd) = server.handler_end;
  At(times, Stage::kReplyPosted) = reply_posted;
}

// The latest that is known of before, and the earliest of after: what they span is longer than the network's ways, so
// the error that is stated is larger than it need be, and never smaller.
void AddServerOfAnotherHost(const SentTimes& sent, const link::Arrival& reply, const ServerTimes& server,
                            ConnectionHops& connection, trace::Record& record) {
  const uint64_t out = sent.departure.posted != 0 ? sent.departure.posted : sent.queued;
  const uint64_t answered = reply.posted != 0 ? reply.posted : server.handler_end;
  if (out != 0 && server.arrived != 0 && answered != 0 && reply.arrived != 0) {
    connection.AddSample({out, server.arrived, answered, reply.arrived});
  }
  const std::optional<trace::ClockEstimate> clock = connection.PeerClock();
  if (!clock.has_value()) return;
  const auto mine = [&](uint64_t time) { return trace::ToMyClock(time, *clock); };
  AddServer({mine(server.arrived), mine(server.dispatched), mine(server.handler_start), mine(server.handler_end)},
            mine(reply.posted), record.times);
  record.clock_error_ns = clock->error_ns;
}

}  // namespace

bool ConnectionHops::may_ask() const { return (features_ & kAskedTimesFeature) != 0; }

link::Arrival ConnectionHops::arrival() const {
  MutexLock lock(&mu_);
  return arrival_;
}

bool ConnectionHops::wanted_unasked(uint64_t now) const {
  if ((features_ & kUnaskedTimesFeature) == 0) return false;
  MutexLock lock(&mu_);
  return peer_traces_since_ != 0 && now - peer_traces_since_ >= kUnaskedAfterNs;
}

void ConnectionHops::Came(const link::Arrival& arrival, uint64_t now) {
  const bool traced = wire::SenderTraces(arrival.posted);
  MutexLock lock(&mu_);
  if (traced) peer_traced_ = now;
  if (!traced) peer_traces_since_ = 0;
  if (traced && peer_traces_since_ == 0) peer_traces_since_ = now;
  peer_traces_.store(traced || (peer_traces() && now - peer_traced_ < kAWhile), std::memory_order_relaxed);
  arrival_ = arrival;
}

void ConnectionHops::AddSample(const trace::ClockSample& sample) {
  MutexLock lock(&mu_);
  clock_.Add(sample);
}

std::optional<trace::ClockEstimate> ConnectionHops::PeerClock() const {
  MutexLock lock(&mu_);
  return clock_.EstimateAt(trace::Now());
}

void AddTimes(const SentTimes& sent, const link::Arrival& reply, const ServerTimes& server, ConnectionHops& connection,
              trace::Record& record) {
  At(record.times, Stage::kQueued) = sent.queued;
  At(record.times, Stage::kLed) = sent.departure.led;
  At(record.times, Stage::kPosted) = sent.departure.posted;
  At(record.times, Stage::kReplyArrived) = reply.arrived;
  record.degree = sent.departure.degree;
  if (connection.one_host()) {
    AddServer(server, reply.posted, record.times);
  } else {
    AddServerOfAnotherHost(sent, reply, server, connection, record);
  }
}

}  // namespace skein::grpc_transport
