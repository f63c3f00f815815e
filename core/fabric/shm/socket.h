// The UNIX socket between two connected queue pairs: side channel for descriptors, sign of life, and doorbell
// of those who have none of their own.
// SOCK_SEQPACKET: each message stays whole. No call here blocks, whatever the peer does to its end, because "do not
// wait" is asked per call and not by a flag of a file description that both processes might share.
#ifndef SKEIN_CORE_FABRIC_SHM_SOCKET_H_
#define SKEIN_CORE_FABRIC_SHM_SOCKET_H_

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/unique_fd.h"

namespace skein::fabric::shm {

struct PeerCredentials {
  pid_t pid = 0;
  uid_t uid = 0;
};

// A listening socket on an abstract name, which vanishes with its process and has no file another user could open.
absl::StatusOr<UniqueFd> ListenAbstract(absl::string_view name);
// UNAVAILABLE when nobody listens there (any more) or its queue is full.
absl::StatusOr<UniqueFd> ConnectAbstract(absl::string_view name);
// The next queued connection, or an invalid descriptor when there is none.
UniqueFd AcceptQueued(int listening_fd);
// Who is at the other end, by the kernel's word, as of listen() or connect().
absl::StatusOr<PeerCredentials> CredentialsOf(int fd);

enum class SendResult { kSent, kFull, kGone };
// One message, with a descriptor when `fd` >= 0.
SendResult SendMessage(int socket, absl::string_view bytes, int fd = -1);

enum class ReceiveResult { kMessage, kEmpty, kGone };
struct Message {
  char bytes[256];
  size_t size = 0;
  UniqueFd fd;
  bool truncated = false;  // longer than any of ours, or a descriptor did not fit this process's limit
  absl::string_view view() const { return {bytes, size}; }
};
ReceiveResult ReceiveMessage(int socket, Message& message);

}  // namespace skein::fabric::shm

#endif  // SKEIN_CORE_FABRIC_SHM_SOCKET_H_
