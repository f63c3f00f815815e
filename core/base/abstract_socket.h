// UNIX sockets, on abstract names, which vanish with their process and have no file that another user could open.
// Anybody may connect, or take a name first: each end asks the kernel who the other one is. SOCK_SEQPACKET: each
// message stays whole. No call blocks.
#ifndef SKEIN_CORE_BASE_ABSTRACT_SOCKET_H_
#define SKEIN_CORE_BASE_ABSTRACT_SOCKET_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/unique_fd.h"

namespace skein {

struct PeerCredentials {
  pid_t pid = 0;  // 0: in a pid namespace that this process does not see
  uid_t uid = 0;  // as this process's user namespace numbers it: see PeerUsers
};

// Connections that wait to be accepted, at most; the kernel takes one more, and caps it at net.core.somaxconn.
inline constexpr int kMostQueued = 4096;

absl::StatusOr<UniqueFd> ListenAbstract(absl::string_view name);
// NOT_FOUND when nobody listens there: the kernel looks for the name in the caller's network namespace alone.
// UNAVAILABLE when it cannot be reached at the moment, as when its queue is full.
absl::StatusOr<UniqueFd> ConnectAbstract(absl::string_view name);
// The same by a path, which leads out of a network namespace, is there as a file, and at most 107 bytes long.
absl::StatusOr<UniqueFd> ListenAtPath(const std::string& path);
absl::StatusOr<UniqueFd> ConnectToPath(const std::string& path);
// The next queued connection, or an invalid descriptor when there is none; errno says why.
UniqueFd AcceptQueued(int listening_fd);
// Who is at the other end, by the kernel's word, as of listen() or connect().
absl::StatusOr<PeerCredentials> CredentialsOf(int fd);

}  // namespace skein

#endif  // SKEIN_CORE_BASE_ABSTRACT_SOCKET_H_
