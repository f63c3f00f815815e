// What all connections of this process share. Made by Init() and never destroyed: gRPC's detached threads may still use
// it while the process ends.
#ifndef SKEIN_GRPC_TRANSPORT_RUNTIME_H_
#define SKEIN_GRPC_TRANSPORT_RUNTIME_H_

#include <memory>
#include <tuple>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/base/options.h"
#include "core/stream/connector.h"
#include "grpc_transport/path_registry.h"
#include "grpc_transport/peer_cache.h"
#include "grpc_transport/waiter.h"

namespace skein::grpc_transport {

// Any thread.
class Runtime {
 public:
  static Runtime& Get();

  // What SKEIN_* said when the process called Init(), or what is wrong with it.
  const absl::StatusOr<Options>& environment() const { return environment_; }
  PathRegistry& paths() { return paths_; }
  PeerCache& plain_peers() { return plain_peers_; }
  Waiter& waiter() { return waiter_; }

  // What streams are made of. Valid forever. Connections whose options are alike share one, and so their links.
  struct Streams {
    std::shared_ptr<stream::Fabrics> fabrics;
    std::unique_ptr<stream::Connector> connector;
    std::unique_ptr<stream::Listener> listener;
  };
  const Streams& StreamsFor(const Options& options);

 private:
  using StreamKey = std::tuple<int64_t, int64_t, bool, RdmaOptions>;  // ring, window, shm

  Runtime();

  const absl::StatusOr<Options> environment_;
  PathRegistry paths_;
  PeerCache plain_peers_;
  Waiter waiter_;

  absl::Mutex mu_;
  absl::flat_hash_map<StreamKey, std::unique_ptr<const Streams>> streams_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_RUNTIME_H_
