// What the streams of a process are made of, on a real host.
#ifndef SKEIN_CORE_STREAM_HOST_STREAMS_H_
#define SKEIN_CORE_STREAM_HOST_STREAMS_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/base/options.h"
#include "core/connect/fabrics.h"
#include "core/stream/connector.h"

namespace skein::stream {

// The part of the options that concerns streams.
StreamOptions StreamOptionsOf(const Options& options);

struct Streams {
  std::shared_ptr<connect::Fabrics> fabrics;
  std::unique_ptr<Connector> connector;
  std::unique_ptr<Listener> listener;
};

// Any thread. `waiter` outlives it.
class HostStreams {
 public:
  explicit HostStreams(wait::Watcher* waiter) : waiter_(waiter) {}
  // Valid as long as this. Connections whose options make no difference here share one, and so their links.
  const Streams& For(const Options& options);

 private:
  wait::Watcher* const waiter_;
  Mutex mu_;
  // A process has a handful.
  std::vector<std::pair<Options, std::unique_ptr<const Streams>>> streams_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::stream

#endif  // SKEIN_CORE_STREAM_HOST_STREAMS_H_
