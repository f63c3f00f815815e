#include "core/stream/host_streams.h"

#include "absl/algorithm/container.h"
#include "core/base/forked.h"
#include "core/connect/host_fabrics.h"
#include "core/inspect/tracing.h"

namespace skein::stream {
namespace {

// The part of the options that makes a difference to streams.
Options KeyOf(const Options& options) {
  const Options defaults;
  Options key = options;
  // Who requires Skein has nothing better to do than to try, whatever failed for others a short while ago.
  if (options.mode == Mode::kRequire) key.rdma.retry_delay = absl::ZeroDuration();
  key.mode = defaults.mode;
  key.negotiation_timeout = defaults.negotiation_timeout;
  key.negative_cache = defaults.negative_cache;
  key.wait_mode = defaults.wait_mode;
  key.spin_time = defaults.spin_time;
  key.trace = defaults.trace;
  return key;
}

}  // namespace

StreamOptions StreamOptionsOf(const Options& options) {
  return {.link = {.ring_bytes = static_cast<size_t>(options.ring_bytes),
                   .max_staging_bytes = static_cast<uint64_t>(options.rdma.peer_memory),
                   .links = static_cast<size_t>(options.shm_links)},
          .window_bytes = static_cast<size_t>(options.window_bytes),
          .large_payload = options.large_payload};
}

const Streams& HostStreams::For(const Options& options) {
  BeginUse();
  inspect::TraceFromTheStart(options.trace);
  Options key = KeyOf(options);
  MutexLock lock(&mu_);
  const auto found = absl::c_find_if(streams_, [&](const auto& entry) { return entry.first == key; });
  if (found != streams_.end()) return *found->second;
  auto made = std::make_unique<Streams>();
  made->fabrics = connect::HostFabricsOfProcess(key.shm, key.rdma);
  made->connector = CreateConnector(made->fabrics, StreamOptionsOf(key), waiter_);
  made->listener = CreateListener(made->fabrics, StreamOptionsOf(key), waiter_);
  return *streams_.emplace_back(std::move(key), std::move(made)).second;
}

}  // namespace skein::stream
