// What is known of a connection for tracing its calls: what carries it, when what was read last had come, whether the
// peer traces, and how far the peer's clock is off.
#ifndef SKEIN_GRPC_TRANSPORT_COMMON_CONNECTION_HOPS_H_
#define SKEIN_GRPC_TRANSPORT_COMMON_CONNECTION_HOPS_H_

#include <atomic>
#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/link/hop.h"
#include "core/trace/clock_offset.h"
#include "core/trace/path.h"
#include "core/trace/tracer.h"
#include "grpc_transport/common/call_times.h"

namespace skein::grpc_transport {

// Any thread. Lock: mu_, a leaf.
class ConnectionHops {
 public:
  // A client that takes unasked times out of its calls' metadata does so for calls that it has begun since it traces.
  // Others, that it had begun before, are on their way for this long at most: 1/4 s.
  static constexpr uint64_t kUnaskedAfterNs = 250'000'000;

  // `features`: what the two ends have agreed on (negotiation.h); over TCP nothing, since a server there may be any,
  // and its handlers would see the question.
  explicit ConnectionHops(trace::Path path, uint8_t features = 0) : path_(path), features_(features) {}
  ConnectionHops(const ConnectionHops&) = delete;
  ConnectionHops& operator=(const ConnectionHops&) = delete;

  trace::Path path() const { return path_; }
  bool one_host() const { return path_ == trace::Path::kShm; }
  // A client's: whether the server takes a question out of a call's metadata, and answers.
  bool may_ask() const;

  // Of what was read last.
  link::Arrival arrival() const ABSL_LOCKS_EXCLUDED(mu_);
  // Whether the peer has traced messages of late: then it may want to know of its calls. For a while after the last of
  // them, too: a call may have asked before the peer's tracing ended, and be sent after that.
  bool peer_traces() const { return peer_traces_.load(std::memory_order_relaxed); }
  // A server's: whether a client that does not ask wants the times of the call that has just come.
  bool wanted_unasked(uint64_t now = trace::Now()) const ABSL_LOCKS_EXCLUDED(mu_);

  // By the endpoint, when bytes have come.
  void Came(const link::Arrival& arrival, uint64_t now = trace::Now()) ABSL_LOCKS_EXCLUDED(mu_);

  // Of a call's request and reply; see ClockOffset. What the peer's clock is from this one: none on one host or while
  // it is not known.
  void AddSample(const trace::ClockSample& sample) ABSL_LOCKS_EXCLUDED(mu_);
  std::optional<trace::ClockEstimate> PeerClock() const ABSL_LOCKS_EXCLUDED(mu_);

 protected:
  ~ConnectionHops() = default;

  mutable Mutex mu_;

 private:
  const trace::Path path_;
  const uint8_t features_;
  std::atomic<bool> peer_traces_ = false;  // relaxed: a hint
  link::Arrival arrival_ ABSL_GUARDED_BY(mu_);
  uint64_t peer_traced_ ABSL_GUARDED_BY(mu_) = 0;        // when its last traced message came
  uint64_t peer_traces_since_ ABSL_GUARDED_BY(mu_) = 0;  // without a message that was not; 0: the last one was not
  trace::ClockOffset clock_ ABSL_GUARDED_BY(mu_);
};

// When what a call had to send went; ns of CLOCK_MONOTONIC, 0: not known.
struct SentTimes {
  uint64_t queued = 0;  // the endpoint got it
  link::Departure departure;
};

// Into a client's record of a call that has ended: when its request went by `sent`, its reply came, and what the server
// says of itself. Between hosts the server's times are converted to this one's clock, as far as that is known.
void AddTimes(const SentTimes& sent, const link::Arrival& reply, const ServerTimes& server, ConnectionHops& connection,
              trace::Record& record);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_COMMON_CONNECTION_HOPS_H_
