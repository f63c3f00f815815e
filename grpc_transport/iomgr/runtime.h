// What all connections of this process share. Made by Init() and never destroyed: gRPC's detached threads may still use
// it while the process ends.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_RUNTIME_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_RUNTIME_H_

#include "core/base/options.h"
#include "core/stream/host_streams.h"
#include "core/stream/peer_cache.h"
#include "grpc_transport/iomgr/waiter.h"

namespace skein::grpc_transport {

// Any thread.
class Runtime {
 public:
  static Runtime& Get();

  // Before the first Get(): the variables that count in the place of the process's own. Valid forever.
  static void UseEnvironment(const char* const* environment);

  // What SKEIN_* said when the process called Init().
  const EnvironmentOptions& environment() const { return environment_; }
  stream::PeerCache& plain_peers() { return plain_peers_; }
  Waiter& waiter() { return waiter_; }

  // What streams are made of. Valid forever.
  const stream::Streams& StreamsFor(const Options& options) { return streams_.For(options); }

 private:
  Runtime();

  const EnvironmentOptions environment_;
  stream::PeerCache plain_peers_;
  Waiter waiter_;
  stream::HostStreams streams_{&waiter_};
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_RUNTIME_H_
