// The fabric of a process whose host has a skeind: RDMA, without a device of its own.
#ifndef SKEIN_CORE_FABRIC_SERVICE_SERVICE_DEVICE_H_
#define SKEIN_CORE_FABRIC_SERVICE_SERVICE_DEVICE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/fabric/fabric.h"

namespace skein::fabric {

// What its devices' names begin with, as users see it.
inline constexpr absl::string_view kServiceKind = "rdma via skeind";
// Whether a skeind may listen in `folder`: its socket is there.
bool MayHaveService(const std::string& folder);

// `folder`: where skeind listens. `local_address`: by which this host reaches the peers that are meant, as text; skeind
// takes its port that has it. UNAVAILABLE: there is no skeind, or it refuses; the message says which. Asks skeind, for
// which it waits a second at most; so do all calls that make or destroy something, and Offer, Accept, Complete, Close.
// `silence`: a skeind that does not look at requests for so long has been stopped, or hangs: the session ends.
//
// It lacks of the contract: SENDs, receives with buffers, memory of the caller's (Register), requests of
// more than one segment, and immediates beside DeviceCapabilities::immediate_bits.
absl::StatusOr<std::shared_ptr<Device>> OpenServiceDevice(const std::string& folder, absl::string_view local_address,
                                                          absl::Duration silence = absl::Seconds(5));

}  // namespace skein::fabric

#endif  // SKEIN_CORE_FABRIC_SERVICE_SERVICE_DEVICE_H_
