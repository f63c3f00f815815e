// The shared-memory fabric: two processes on one host that meet there, of one user or of users that allow each other.
#ifndef SKEIN_CORE_FABRIC_SHM_SHM_DEVICE_H_
#define SKEIN_CORE_FABRIC_SHM_SHM_DEVICE_H_

#include <skein/options.h>

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/fabric/fabric.h"

namespace skein::fabric {

struct ShmOptions {
  // What the peer of one queue pair may make this process map; by a link, so much for each of its lanes.
  size_t max_import_bytes = size_t{4} << 30;
  size_t max_imports = 64;
  PeerUsers peer_users = {};  // whose processes may be peers
  // For how long peers of another user are left alone after the kernel refused this process something with one of them.
  absl::Duration settle_time = absl::Seconds(10);
  std::string rendezvous = {};  // a directory where peers in other network namespaces are met; empty: they are not
};

// Costs nothing until the first Offer. It is not Usable() any more once the kernel has refused this process something
// in the midst of a connection with a process of its own user. What it was refused with a peer of another user counts
// for that user: see settle_time. Its queue pairs' refusals are FallbackError()s that say which boundary lies
// between the processes. Registered (as against allocated) memory can be read by peers, not written.
absl::StatusOr<std::shared_ptr<Device>> OpenShmDevice(const ShmOptions& options = {});

// Descriptors that the kernel must have left for one connection of this process, and for its rehearsal, with a few
// over for the program: without one left when it looks for the next connection, gRPC 1.51 never accepts again.
inline constexpr int kShmDescriptors = 12;
inline constexpr int kShmRehearsalDescriptors = 16;

}  // namespace skein::fabric

#endif  // SKEIN_CORE_FABRIC_SHM_SHM_DEVICE_H_
