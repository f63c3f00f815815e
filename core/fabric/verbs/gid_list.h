// Which GIDs the ports of this host have.
#ifndef SKEIN_CORE_FABRIC_VERBS_GID_LIST_H_
#define SKEIN_CORE_FABRIC_VERBS_GID_LIST_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/fabric/verbs/context.h"
#include "core/fabric/verbs/gid.h"

namespace skein::fabric::verbs {

// Keeps what it lists open: to ask a device costs little, to open it much. One thread at a time.
class GidList {
 public:
  // Every entry of every port of every device that this process may open, those of a port together. UNAVAILABLE when
  // RDMA is off, NOT_FOUND when there is no device; both say why. Lets go of devices that have gone.
  absl::StatusOr<std::vector<GidEntry>> Read();

 private:
  absl::StatusOr<std::shared_ptr<Context>> ContextOf(const DeviceList& list, ibv_device* device) const;

  std::vector<std::shared_ptr<Context>> open_;
};

// The same, for who asks once.
inline absl::StatusOr<std::vector<GidEntry>> ListGids() { return GidList().Read(); }

}  // namespace skein::fabric::verbs

#endif  // SKEIN_CORE_FABRIC_VERBS_GID_LIST_H_
