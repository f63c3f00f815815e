// What a connection's endpoint and the filters above its transport tell each other of the calls that are traced: when
// what a call waits to send has gone, and when what it has received had come.
//
// Chttp2 gathers what many calls send into one write, and nothing says which. A call says that it has something to
// send before the transport hears of it; the connection's next write then counts as its own. What the transport was
// about to write just then would be taken for it: too early by the time of one write, now and then.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_CONNECTION_TRACE_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_CONNECTION_TRACE_H_

#include <atomic>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "core/link/hop.h"
#include "grpc_transport/common/connection_hops.h"
#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

// Any thread. Reaches the filters as an argument of the channel. Lock: mu_, a leaf.
class ConnectionTrace : public grpc_core::RefCounted<ConnectionTrace>, public ConnectionHops {
 public:
  using ConnectionHops::ConnectionHops;

  static absl::string_view ChannelArgName() { return "skein.connection_trace"; }
  static int ChannelArgsCompare(const ConnectionTrace* a, const ConnectionTrace* b) {
    return grpc_core::QsortCompare(a, b);
  }

  // By a call. `times` is written until Forget, at the latest when the next write is over.
  void Awaits(SentTimes* times) ABSL_LOCKS_EXCLUDED(mu_);
  void Forget(const SentTimes* times) ABSL_LOCKS_EXCLUDED(mu_);

  // By the endpoint, around a write, one at a time (Wrote, if Writing says so).
  bool Writing() {
    const bool awaited = awaited_.load(std::memory_order_relaxed);
    if (awaited) [[unlikely]]
      BeginWrite();
    return awaited;
  }
  void Wrote(const link::Departure& departure) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void BeginWrite() ABSL_LOCKS_EXCLUDED(mu_);

  std::atomic<bool> awaited_ = false;  // relaxed: a hint; who has just come may miss the write that carries him
  std::vector<SentTimes*> waiting_ ABSL_GUARDED_BY(mu_);  // for a write to begin
  std::vector<SentTimes*> going_ ABSL_GUARDED_BY(mu_);    // in the one that is under way
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_CONNECTION_TRACE_H_
