// The RDMA fabric: reliable connections of one port and GID of one device.
#ifndef SKEIN_CORE_FABRIC_VERBS_VERBS_DEVICE_H_
#define SKEIN_CORE_FABRIC_VERBS_VERBS_DEVICE_H_

#include <cstdint>
#include <limits>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/fabric/fabric.h"
#include "core/fabric/verbs/gid.h"

namespace skein::fabric {

// InfiniBand Architecture Specification vol. 1, 11.2.5 (Modify Queue Pair), names and bounds.
struct VerbsOptions {
  uint32_t mtu = 0;           // bytes, 256 .. 4096; 0: the port's active one
  uint8_t traffic_class = 0;  // of the global route header: DSCP and ECN bits
  uint8_t service_level = 0;
  uint8_t hop_limit = 64;
  uint8_t timeout = 14;  // an acknowledgement is awaited for 4.096 us * 2^timeout
  uint8_t retries = 6;   // of a packet that is not acknowledged; 7 means for ever to Soft-RoCE
  // How long a queue pair waits for an answer to its question whether the peer is there, before it gives up; twice as
  // long as the device may try, if that is longer.
  absl::Duration least_patience = absl::Seconds(15);
  uint8_t rnr_timer = 12;  // how long a sender waits when there is no receive; 12 is 0.64 ms, the table is the spec's
  // Bytes that this process, with all its devices, registers at most.
  uint64_t max_registered_bytes = std::numeric_limits<uint64_t>::max();
};

// Through which port and by which address peers are reached: see ListGids(). Its queue pairs' refusals are
// FallbackError()s. UNAVAILABLE: RDMA is off.
absl::StatusOr<std::shared_ptr<Device>> OpenVerbsDevice(const verbs::GidEntry& through,
                                                        const VerbsOptions& options = {});

}  // namespace skein::fabric

#endif  // SKEIN_CORE_FABRIC_VERBS_VERBS_DEVICE_H_
