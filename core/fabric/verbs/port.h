// What all queue pairs of one device object have in common: the port, the address, how packets are sent, and which
// memory their peers may name.
#ifndef SKEIN_CORE_FABRIC_VERBS_PORT_H_
#define SKEIN_CORE_FABRIC_VERBS_PORT_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "core/fabric/fabric.h"
#include "core/fabric/verbs/context.h"
#include "core/fabric/verbs/flush.h"
#include "core/fabric/verbs/offer.h"
#include "core/fabric/verbs/verbs_device.h"

namespace skein::fabric::verbs {

struct Port {
  std::shared_ptr<Context> context;
  std::shared_ptr<ibv_pd> domain;  // keeps the context
  GidEntry through;
  VerbsOptions options;
  Address address;  // this end's, but for number and sequence
  uint64_t max_message_bytes = 0;
  uint32_t max_inline_bytes = 0;
  uint32_t max_segments = 1;
  FlushTypes flush;  // the device executes them, and its driver posts them
};

DeviceCapabilities CapabilitiesOf(const Port& port);

absl::StatusOr<std::shared_ptr<ibv_pd>> AllocateDomain(const std::shared_ptr<Context>& context);

absl::StatusOr<Port> OpenPort(const GidEntry& through, const VerbsOptions& options);

// What `address` is in the port's present state: the subnet manager gives out LIDs, and MTUs are changed.
Address AddressOf(const ibv_port_attr& port, const ibv_device_attr& device, const Gid& gid,
                  const VerbsOptions& options);
// Whether it is still what it was when the port was opened.
bool HasKeptAddress(const Port& port);

// A queue pair in the state INIT. Errors name the limit met.
absl::StatusOr<ibv_qp*> CreateRaw(const Port& port, ibv_cq* send_queue, ibv_cq* receive_queue,
                                  const QueuePairOptions& options);
// INIT to RTS.
absl::Status ConnectRaw(const Port& port, ibv_qp* queue_pair, const Address& mine, const Address& theirs);

}  // namespace skein::fabric::verbs

#endif  // SKEIN_CORE_FABRIC_VERBS_PORT_H_
