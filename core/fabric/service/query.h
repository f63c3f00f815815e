// What may be asked of a skeind without a device: by the skein command, and by a skeind that takes its place.
#ifndef SKEIN_CORE_FABRIC_SERVICE_QUERY_H_
#define SKEIN_CORE_FABRIC_SERVICE_QUERY_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/abstract_socket.h"
#include "core/base/unique_fd.h"
#include "core/fabric/service/protocol.h"

namespace skein::fabric::service {

// What one user's processes have, and may have.
struct UserShare {
  uint64_t used = 0;
  uint64_t most = 0;
};

// What a skeind says of itself, to a process of that user.
struct About {
  std::string version;
  uint16_t port = 0;  // at which other hosts' skeinds reach it
  UserShare sessions;
  UserShare queue_pairs;
  UserShare bytes;  // registered
};
// The text of kAbout's answer. Decode: DATA_LOSS if it is none.
std::string EncodeAbout(const About& about);
absl::StatusOr<About> DecodeAbout(absl::string_view text);

// A connection to a skeind, over which nothing is greeted.
class Query {
 public:
  // NOT_FOUND: nobody listens in `folder`. UNAVAILABLE: the socket cannot be reached, and why.
  static absl::StatusOr<Query> Open(const std::string& folder);

  // Who listens, by the kernel's word.
  const PeerCredentials& who() const { return who_; }
  // Waits for a second at most. DEADLINE_EXCEEDED: skeind is stopped, or hangs. UNAVAILABLE: it has gone. Else what it
  // says. `descriptor`: takes the one that comes with the answer.
  absl::StatusOr<Reply> Ask(const Request& request, UniqueFd* descriptor = nullptr) const;
  absl::StatusOr<About> AskAbout() const;
  // Whether skeind lets go of its end within that time.
  bool WaitForEnd(absl::Duration patience) const;

 private:
  Query(UniqueFd socket, const PeerCredentials& who) : socket_(std::move(socket)), who_(who) {}

  UniqueFd socket_;
  PeerCredentials who_;
};

}  // namespace skein::fabric::service

#endif  // SKEIN_CORE_FABRIC_SERVICE_QUERY_H_
