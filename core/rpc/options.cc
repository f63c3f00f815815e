#include "core/rpc/options.h"

#include "core/base/forked.h"
#include "core/connect/host_fabrics.h"

namespace skein::rpc {
connect::Options ConnectOptionsOf(const Options& options) {
  connect::Options links;
  links.ring_bytes = options.ring_bytes;
  links.max_staging_bytes = static_cast<uint64_t>(options.rdma.peer_memory);
  links.combines = options.coalesce;
  return links;
}

std::shared_ptr<connect::Fabrics> FabricsOf(const Options& options, const OnFabrics& on) {
  BeginUse();
  return on.fabrics != nullptr ? on.fabrics : connect::CreateHostFabrics(options.shm, options.rdma);
}

wait::SpinPolicy SpinPolicyOf(const Options& options) { return {options.wait_mode, options.spin_time}; }

}  // namespace skein::rpc
