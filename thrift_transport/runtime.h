// What all of Skein's Thrift transports in this process share. Never destroyed: sockets may outlive main().
#ifndef SKEIN_THRIFT_TRANSPORT_RUNTIME_H_
#define SKEIN_THRIFT_TRANSPORT_RUNTIME_H_

#include <memory>
#include <tuple>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "core/base/mutex.h"
#include "core/base/options.h"
#include "core/connect/peer_cache.h"
#include "core/stream/host_streams.h"
#include "core/stream/thread_streams.h"

namespace skein::thrift_transport {

// Any thread.
class Runtime {
 public:
  static Runtime& Get();

  // Sockets that wait alike share their links, if their other options are alike, too. Valid for ever.
  struct Waiting {
    explicit Waiting(const wait::SpinPolicy& policy) : threads(policy) {}
    stream::ThreadStreams threads;
    stream::HostStreams streams{&threads};
  };
  Waiting& WaitingAs(const Options& options);

  // Servers found not to speak Skein, by "host:port".
  connect::PeerCache& plain_peers() { return plain_peers_; }

 private:
  Runtime() = default;

  connect::PeerCache plain_peers_;
  Mutex mu_;
  absl::flat_hash_map<std::tuple<WaitMode, absl::Duration>, std::unique_ptr<Waiting>> waiting_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRANSPORT_RUNTIME_H_
