// The RDMA ports of this host that skeind serves.
#ifndef SKEIN_CORE_SERVICE_HOST_PORTS_H_
#define SKEIN_CORE_SERVICE_HOST_PORTS_H_

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/options.h"
#include "core/fabric/verbs/gid_list.h"
#include "core/service/port.h"

namespace skein::service {

// One thread.
class HostPorts {
 public:
  // `options` name a device, port and GID index, or leave them open. `address`: by which other hosts' skeinds reach
  // this one; empty: a port's own IP address, which InfiniBand's have not.
  HostPorts(RdmaOptions options, std::string address) : options_(std::move(options)), address_(std::move(address)) {}

  // The port that has `local_address`; of a process in another network namespace, whose addresses are none of the
  // host's, the first that is active.
  absl::StatusOr<Port> For(absl::string_view local_address);

 private:
  using Key = std::tuple<std::string, uint8_t, uint32_t, fabric::verbs::Gid>;

  const RdmaOptions options_;
  const std::string address_;
  fabric::verbs::GidList gids_;
  std::map<Key, std::shared_ptr<fabric::Device>> devices_;
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_HOST_PORTS_H_
