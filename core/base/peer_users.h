// With the processes of which users this one shares what it has: its own user's, and those that an option names. Root
// is none of them by itself.
#ifndef SKEIN_CORE_BASE_PEER_USERS_H_
#define SKEIN_CORE_BASE_PEER_USERS_H_

#include <sys/types.h>

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace skein {

class PeerUsers {
 public:
  PeerUsers() = default;  // the own user alone
  explicit PeerUsers(std::vector<uid_t> others) : others_(std::move(others)) {}
  // As the option has them: names or numbers of users besides the own one, with commas between. INVALID_ARGUMENT names
  // the one that is unknown. Asks where this host keeps its users, which may be a server.
  static absl::StatusOr<PeerUsers> Parse(absl::string_view list);

  // Judges a user that the kernel has named (CredentialsOf), as this process's user namespace numbers it. The own user
  // is the calling thread's effective one, at this moment. FallbackError: kDifferentUser, in words
  // that are true at either end.
  absl::Status Check(uid_t peer) const;

  friend bool operator==(const PeerUsers&, const PeerUsers&) = default;

 private:
  std::vector<uid_t> others_;
};

}  // namespace skein

#endif  // SKEIN_CORE_BASE_PEER_USERS_H_
