#include "grpc_transport/runtime.h"

#include <unistd.h>

#include <utility>

#include "core/stream/host_fabrics.h"
#include "grpc_transport/forked.h"

namespace skein::grpc_transport {

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
    made->connector = stream::CreateConnector(made->fabrics, stream::StreamOptionsOf(options), &waiter_);
    made->listener = stream::CreateListener(made->fabrics, stream::StreamOptionsOf(options), &waiter_);
    streams = std::move(made);
  }
  return *streams;
}

}  // namespace skein::grpc_transport
