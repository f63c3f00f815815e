// The RDMA device that tests use, where there is one.
#ifndef SKEIN_TESTS_SUPPORT_RDMA_DEVICE_H_
#define SKEIN_TESTS_SUPPORT_RDMA_DEVICE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/fabric/verbs/gid_list.h"
#include "core/fabric/verbs/verbs_device.h"

namespace skein::fabric {

// By the default GID; each call makes another device.
inline absl::StatusOr<std::shared_ptr<Device>> OpenRdmaDevice() {
  const absl::StatusOr<std::vector<verbs::GidEntry>> entries = verbs::ListGids();
  if (!entries.ok()) return entries.status();
  const absl::StatusOr<verbs::GidEntry> through = verbs::DefaultGid(*entries);
  if (!through.ok()) return through.status();
  return OpenVerbsDevice(*through);
}

}  // namespace skein::fabric

#endif  // SKEIN_TESTS_SUPPORT_RDMA_DEVICE_H_
