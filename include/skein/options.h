// How threads wait, whose processes share memory, and how RDMA is used. All are values. docs/options.md explains each
// and has its range; <skein/rpc.h> takes them as structs, gRPC and Thrift by their names.
#ifndef SKEIN_OPTIONS_H_
#define SKEIN_OPTIONS_H_

#include <skein/export.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace skein {

// How threads wait. poll: never sleep. hybrid: spin while it pays, then sleep. block: sleep at once.
enum class WaitMode : uint8_t { kPoll, kHybrid, kBlock };

// The users with whose processes this process shares memory: its own user, and those that an option names. Root is not
// among them by itself. Any thread may read one.
class SKEIN_EXPORT PeerUsers {
 public:
  PeerUsers() = default;  // the own user alone
  explicit PeerUsers(std::vector<uid_t> others) : others_(std::move(others)) {}
  // As the option has them: names or numbers of users besides the own one, with commas between. INVALID_ARGUMENT names
  // the one that is unknown. Asks where this host keeps its users, which may be a server.
  static absl::StatusOr<PeerUsers> Parse(absl::string_view list);

  // Judges a user that the kernel has named, as this process's user namespace numbers it. The own user is the calling
  // thread's effective one, at this moment. The error says in words that are true at either end why not.
  absl::Status Check(uid_t peer) const;

  friend bool operator==(const PeerUsers&, const PeerUsers&) = default;

 private:
  std::vector<uid_t> others_;
};

// With which processes of this host memory is shared.
struct SharedMemoryOptions {
  bool enabled = true;
  PeerUsers peer_users;
  std::string rendezvous;  // an absolute path of at most 68 bytes, of a directory; empty: none

  friend bool operator==(const SharedMemoryOptions&, const SharedMemoryOptions&) = default;
};

// The owner of the RDMA device. kAuto: this process, where it has one, and skeind where one serves this host. kDirect:
// this process alone. kService: skeind alone.
enum class RdmaBy : uint8_t { kAuto, kDirect, kService };

// How RDMA is used. Numbers that the InfiniBand specification codes are as there (vol. 1, 11.2.5).
struct RdmaOptions {
  bool enabled = true;
  RdmaBy by = RdmaBy::kAuto;
  std::string service = "/run/skeind";             // the directory where skeind listens
  std::string device;                              // empty: the one that has the connection's address
  int64_t port = 0;                                // 0: the same
  int64_t gid_index = -1;                          // -1: the same
  int64_t mtu = 0;                                 // bytes, a power of two from 256 to 4096; 0: the port's
  int64_t traffic_class = 0;                       // 0 to 255
  int64_t service_level = 0;                       // 0 to 15
  int64_t timeout = 14;                            // 4.096 us * 2^timeout until a packet is sent again
  int64_t retries = 6;                             // times a packet is sent again, up to 7
  int64_t rnr_timer = 12;                          // coded; 12 is 0.64 ms
  absl::Duration retry_delay = absl::Seconds(10);  // without RDMA to a peer after it has failed
  int64_t memory = int64_t{1} << 30;               // bytes registered by this process
  int64_t peer_memory = int64_t{64} << 20;         // of these, for the staging buffer of one peer

  friend bool operator==(const RdmaOptions&, const RdmaOptions&) = default;
};

}  // namespace skein

#endif  // SKEIN_OPTIONS_H_
