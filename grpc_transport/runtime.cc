#include "grpc_transport/runtime.h"

#include <unistd.h>

#include <utility>

#include "core/stream/host_fabrics.h"
#include "grpc_transport/forked.h"

namespace skein::grpc_transport {
namespace {

stream::StreamOptions StreamOptionsOf(const Options& options) {
  return {static_cast<size_t>(options.ring_bytes), static_cast<size_t>(options.window_bytes),
          static_cast<uint64_t>(options.rdma.peer_memory)};
}

}  // namespace

Runtime& Runtime::Get() {
  static auto* const runtime = new Runtime;
  return *runtime;
}

Runtime::Runtime() : environment_(OptionsFromEnvironment({}, "SKEIN_GRPC", environ)) { NoticeForks(); }

const Runtime::Streams& Runtime::StreamsFor(const Options& options) {
  absl::MutexLock lock(&mu_);
  std::unique_ptr<const Streams>& streams =
      streams_[{options.ring_bytes, options.window_bytes, options.shm, options.rdma}];
  if (streams == nullptr) {
    auto made = std::make_unique<Streams>();
    made->fabrics = stream::CreateHostFabrics(options.shm, options.rdma);
    made->connector = stream::CreateConnector(made->fabrics, StreamOptionsOf(options), &waiter_);
    made->listener = stream::CreateListener(made->fabrics, StreamOptionsOf(options), &waiter_);
    streams = std::move(made);
  }
  return *streams;
}

}  // namespace skein::grpc_transport
