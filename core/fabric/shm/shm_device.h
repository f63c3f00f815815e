// The shared-memory fabric: two processes of one user on one host, in one network and one pid namespace.
#ifndef SKEIN_CORE_FABRIC_SHM_SHM_DEVICE_H_
#define SKEIN_CORE_FABRIC_SHM_SHM_DEVICE_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "core/fabric/fabric.h"

namespace skein::fabric {

// What the peer of one queue pair may make this process map; by a link, so much for each of its lanes.
struct ShmOptions {
  size_t max_import_bytes = size_t{4} << 30;
  size_t max_imports = 64;
};

// Costs nothing until the first Offer. Its queue pairs' refusals are FallbackError()s that say which boundary lies
// between the processes. Registered (as against allocated) memory can be read by peers, not written.
absl::StatusOr<std::shared_ptr<Device>> OpenShmDevice(const ShmOptions& options = {});

}  // namespace skein::fabric

#endif  // SKEIN_CORE_FABRIC_SHM_SHM_DEVICE_H_
