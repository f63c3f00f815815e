// What all connections of this process share, whichever gRPC it has.
#ifndef SKEIN_GRPC_TRANSPORT_COMMON_PROCESS_STATE_H_
#define SKEIN_GRPC_TRANSPORT_COMMON_PROCESS_STATE_H_

#include <atomic>

#include "core/base/options.h"
#include "core/connect/peer_cache.h"
#include "core/stream/host_streams.h"
#include "core/wait/source.h"
#include "core/wait/spin_budget.h"

namespace skein::grpc_transport {

// Before the first ReadEnvironment(): the variables that count in the place of the process's own. Valid forever.
void UseEnvironment(const char* const* environment);
// What SKEIN_* says.
EnvironmentOptions ReadEnvironment();

// Of the process: its threads wait for all of its channels.
inline wait::SpinPolicy SpinPolicyOf(const Options& options) { return {options.wait_mode, options.spin_time}; }

// Any thread.
class ProcessState {
 public:
  // `waiter` outlives it.
  ProcessState(EnvironmentOptions environment, wait::Watcher* waiter);

  // What SKEIN_* said when the process called Init().
  const EnvironmentOptions& environment() const { return environment_; }
  // Writes the environment's warning to gRPC's log, the first time. By the first connection that is not off; not by
  // Init(), which the preload library calls in every process, whether or not it uses gRPC.
  void WarnOnce();
  connect::PeerCache& plain_peers() { return plain_peers_; }
  // What streams are made of. Valid as long as this.
  const stream::Streams& StreamsFor(const Options& options) { return streams_.For(options); }

 private:
  const EnvironmentOptions environment_;
  std::atomic<bool> warned_{false};  // relaxed: of two threads, one warns
  connect::PeerCache plain_peers_;
  stream::HostStreams streams_;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_COMMON_PROCESS_STATE_H_
