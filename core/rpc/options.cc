#include "core/rpc/options.h"

#include "core/base/forked.h"
#include "core/stream/host_fabrics.h"

namespace skein::rpc {
stream::StreamOptions StreamOptionsOf(const Options& options) {
  stream::StreamOptions stream;
  stream.ring_bytes = options.ring_bytes;
  stream.max_mirror_bytes = static_cast<uint64_t>(options.rdma.peer_memory);
  stream.combines = options.coalesce;
  return stream;
}

std::shared_ptr<stream::Fabrics> FabricsOf(const Options& options) {
  BeginUse();
  return options.fabrics != nullptr ? options.fabrics : stream::CreateHostFabrics(options.shm, options.rdma);
}

progress::SpinPolicy SpinPolicyOf(const Options& options) { return {options.wait_mode, options.spin_time}; }

}  // namespace skein::rpc
