// What a user says of RDMA, as the verbs fabric takes it.
#ifndef SKEIN_CORE_CONNECT_VERBS_OPTIONS_H_
#define SKEIN_CORE_CONNECT_VERBS_OPTIONS_H_

#include "core/base/options.h"
#include "core/fabric/verbs/verbs_device.h"

namespace skein::connect {

inline fabric::VerbsOptions VerbsOptionsOf(const RdmaOptions& options) {
  fabric::VerbsOptions verbs;
  verbs.mtu = static_cast<uint32_t>(options.mtu);
  verbs.traffic_class = static_cast<uint8_t>(options.traffic_class);
  verbs.service_level = static_cast<uint8_t>(options.service_level);
  verbs.timeout = static_cast<uint8_t>(options.timeout);
  verbs.retries = static_cast<uint8_t>(options.retries);
  verbs.rnr_timer = static_cast<uint8_t>(options.rnr_timer);
  verbs.max_registered_bytes = static_cast<uint64_t>(options.memory);
  return verbs;
}

}  // namespace skein::connect

#endif  // SKEIN_CORE_CONNECT_VERBS_OPTIONS_H_
