// What all connections of this process share. Made by Init() and never destroyed: gRPC's detached threads may still use
// it while the process ends.
#ifndef SKEIN_GRPC_TRANSPORT_RUNTIME_H_
#define SKEIN_GRPC_TRANSPORT_RUNTIME_H_

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/base/options.h"
#include "core/fabric/fabric.h"
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

  // Valid forever. Connections whose links have the same sizes share one, and so their links.
  absl::StatusOr<stream::Connector*> ConnectorFor(const Options& options);
  absl::StatusOr<stream::Listener*> ListenerFor(const Options& options);

 private:
  using Sizes = std::pair<int64_t, int64_t>;  // ring, window

  Runtime();
  absl::StatusOr<std::shared_ptr<fabric::Device>> DeviceLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const absl::StatusOr<Options> environment_;
  PathRegistry paths_;
  PeerCache plain_peers_;
  Waiter waiter_;

  absl::Mutex mu_;
  std::shared_ptr<fabric::Device> device_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<Sizes, std::unique_ptr<stream::Connector>> connectors_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<Sizes, std::unique_ptr<stream::Listener>> listeners_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_RUNTIME_H_
