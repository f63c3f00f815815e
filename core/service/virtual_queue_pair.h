// A process's end of a virtual queue pair, as skeind has it.
//
//            kOffer               the peer's skeind: kConnect
//     kNew ---------> kOffered -----------------------------+-> kConnected --> kEnded
//       \    kAccept               kConnected, its answer   |
//        \---------> kAccepting ---------------------------/
//
// It ends when the process closes or destroys it or dies, when the peer's end closes, when the trunk fails, and with a
// request that may not be; from any state.
//
// kEnded says kClosed to the peer's skeind once all that is under way has ended (TrunkLine::Later). The number is free
// for another one when both skeinds have said so, or the trunk is gone.
#ifndef SKEIN_CORE_SERVICE_VIRTUAL_QUEUE_PAIR_H_
#define SKEIN_CORE_SERVICE_VIRTUAL_QUEUE_PAIR_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/base/mapping.h"
#include "core/fabric/service/shared_queues.h"
#include "core/service/budget.h"
#include "core/service/completions.h"
#include "core/service/region.h"
#include "core/service/shares.h"
#include "core/service/statistics.h"

namespace skein::service {

class Session;
class Trunk;

// skeind's thread. A struct: the session, the trunk and QueuePairs each keep the part that is theirs.
struct VirtualQueuePair {
  enum class State : uint8_t { kNew, kOffered, kAccepting, kConnected, kEnded };

  // Memory of the peer's, by the rkey that the process uses.
  struct Remote {
    bool known = false;  // false: the peer's skeind has been asked
    uint64_t base = 0;   // as the peer numbers it
    uint64_t size = 0;
    uint64_t address = 0;  // the device's
    uint32_t key = 0;
    uint32_t access = 0;
  };

  explicit VirtualQueuePair(UserBudget::Share of_user) : share(std::move(of_user)) {}

  // The session's.
  const UserBudget::Share share;
  std::shared_ptr<Session> session;
  uint32_t number = 0;
  uint32_t place = 0;
  Mapping memory;
  fabric::service::SubmissionQueue submissions;
  uint64_t depth = 0;
  std::shared_ptr<Completions> send_queue;
  std::shared_ptr<Completions> receive_queue;

  // QueuePairs'.
  State state = State::kNew;
  uint64_t token = 0;
  uint64_t taken = 0;            // requests, since the start
  bool destroyed = false;        // by the process
  bool queued = false;           // it has a turn coming
  bool waits_to_hear = false;    // where memory of the peer's is, or that its own is registered here
  bool waits_for_space = false;  // on the trunk
  bool is_refused = false;       // its next request: it ends when those before have
  Traffic traffic;               // but for requests, which are `taken`

  // The trunk's.
  std::shared_ptr<Trunk> trunk;
  uint32_t peer = 0;  // its number there
  bool told_closed = false;
  bool heard_closed = false;
  absl::flat_hash_map<uint32_t, Remote> remotes;
  // The process's memory that its requests have named, by lkey; until the process lets go of it, or this ends.
  absl::flat_hash_map<uint32_t, std::shared_ptr<Region::OnTrunk>> locals;
  std::shared_ptr<Shares::Process> process;
};

inline Traffic TrafficOf(const VirtualQueuePair& queue_pair) {
  Traffic traffic = queue_pair.traffic;
  traffic.requests = queue_pair.taken;
  return traffic;
}

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_VIRTUAL_QUEUE_PAIR_H_
