// With the processes of which users this one shares what it has: its own user's, and those that an option names. Root
// is none of them by itself.
#ifndef SKEIN_CORE_BASE_PEER_USERS_H_
#define SKEIN_CORE_BASE_PEER_USERS_H_

#include <sys/types.h>

#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace skein {

class PeerUsers {
 public:
  PeerUsers() = default;  // the own user alone
  explicit PeerUsers(std::vector<uid_t> others) : others_(std::move(others)) {}

  // Judges a user that the kernel has named (CredentialsOf), as this process's user namespace numbers it. The own user
  // is the calling thread's effective one, at this moment. FallbackError: kDifferentUser, in words
  // that are true at either end.
  absl::Status Check(uid_t peer) const;

 private:
  std::vector<uid_t> others_;
};

}  // namespace skein

#endif  // SKEIN_CORE_BASE_PEER_USERS_H_
