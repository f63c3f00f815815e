// What a process may be given to share memory with, and how much.
#ifndef SKEIN_CORE_CHANNEL_SHM_SHM_OPTIONS_H_
#define SKEIN_CORE_CHANNEL_SHM_SHM_OPTIONS_H_

#include <skein/options.h>

#include <cstddef>
#include <string>

#include "absl/time/time.h"

namespace skein::channel {

struct ShmOptions {
  // What the peer of one channel may make this process map besides the channel itself, and how large a channel may be.
  size_t max_import_bytes = size_t{4} << 30;
  size_t max_imports = 64;
  PeerUsers peer_users = {};  // whose processes may be peers
  // For how long peers of another user are left alone after the kernel refused this process something with one of them.
  absl::Duration settle_time = absl::Seconds(10);
  std::string rendezvous = {};  // a directory where peers in other network namespaces are met; empty: they are not
};

// Descriptors that the kernel must have left for one connection of this process, and for its rehearsal, with a few
// over for the program: without one left when it looks for the next connection, gRPC 1.51 never accepts again.
inline constexpr int kShmDescriptors = 12;
inline constexpr int kShmRehearsalDescriptors = 16;

}  // namespace skein::channel

#endif  // SKEIN_CORE_CHANNEL_SHM_SHM_OPTIONS_H_
