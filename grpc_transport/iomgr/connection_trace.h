// What a connection's endpoint and the filters above its transport tell each other of the calls that are traced: when
// what a call waits to send has gone, and when what it has received had come.
//
// Chttp2 gathers what many calls send into one write, and nothing says which. A call says that it has something to
// send before the transport hears of it; the connection's next write then counts as its own. What the transport was
// about to write just then would be taken for it: too early by the time of one write, now and then.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_CONNECTION_TRACE_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_CONNECTION_TRACE_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "core/base/mutex.h"
#include "core/link/hop.h"
#include "core/trace/clock_offset.h"
#include "core/trace/path.h"
#include "core/trace/tracer.h"
#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

// A call's own; ns of CLOCK_MONOTONIC, 0: not known.
struct SentTimes {
  uint64_t queued = 0;  // the endpoint got it
  link::Departure departure;
};

// Any thread. Reaches the filters as an argument of the channel. Lock: mu_, a leaf.
class ConnectionTrace : public grpc_core::RefCounted<ConnectionTrace> {
 public:
  explicit ConnectionTrace(trace::Path path) : path_(path) {}

  static absl::string_view ChannelArgName() { return "skein.connection_trace"; }
  static int ChannelArgsCompare(const ConnectionTrace* a, const ConnectionTrace* b) {
    return grpc_core::QsortCompare(a, b);
  }

  trace::Path path() const { return path_; }
  bool one_host() const { return path_ == trace::Path::kShm; }

  // By a call. `times` is written until Forget, at the latest when the next write is over.
  void Awaits(SentTimes* times) ABSL_LOCKS_EXCLUDED(mu_);
  void Forget(const SentTimes* times) ABSL_LOCKS_EXCLUDED(mu_);
  // Of what was read last.
  link::Arrival arrival() const ABSL_LOCKS_EXCLUDED(mu_);
  // Whether the peer's gRPC has filters as this one's, which take what the two ends say of a call out of its metadata.
  // Over TCP a server may be any; its handlers would see the question.
  bool peer_has_filters() const { return path_ != trace::Path::kTcp; }
  // Whether the peer has traced messages of late: then it may want to know of its calls. For a while after the last of
  // them, too: a call may have asked before the peer's tracing ended, and be sent after that.
  bool peer_traces() const { return peer_traces_.load(std::memory_order_relaxed); }

  // By the endpoint, around a write, one at a time (Wrote, if Writing says so); and when bytes have come.
  bool Writing() {
    const bool awaited = awaited_.load(std::memory_order_relaxed);
    if (awaited) [[unlikely]]
      BeginWrite();
    return awaited;
  }
  void Wrote(const link::Departure& departure) ABSL_LOCKS_EXCLUDED(mu_);
  void Came(const link::Arrival& arrival, uint64_t now = trace::Now()) ABSL_LOCKS_EXCLUDED(mu_);

  // Of a call's request and reply; see ClockOffset. What the peer's clock is from this one: none on one host or while
  // it is not known.
  void AddSample(const trace::ClockSample& sample) ABSL_LOCKS_EXCLUDED(mu_);
  std::optional<trace::ClockEstimate> PeerClock() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void BeginWrite() ABSL_LOCKS_EXCLUDED(mu_);

  const trace::Path path_;
  std::atomic<bool> awaited_ = false;      // relaxed: a hint; who has just come may miss the write that carries him
  std::atomic<bool> peer_traces_ = false;  // relaxed: a hint
  mutable Mutex mu_;
  std::vector<SentTimes*> waiting_ ABSL_GUARDED_BY(mu_);  // for a write to begin
  std::vector<SentTimes*> going_ ABSL_GUARDED_BY(mu_);    // in the one that is under way
  link::Arrival arrival_ ABSL_GUARDED_BY(mu_);
  uint64_t peer_traced_ ABSL_GUARDED_BY(mu_) = 0;  // when its last traced message came
  trace::ClockOffset clock_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_CONNECTION_TRACE_H_
