// The virtual queue pairs of all processes: how they get from state to state (virtual_queue_pair.h), and whose turn it
// is.
#ifndef SKEIN_CORE_SERVICE_QUEUE_PAIRS_H_
#define SKEIN_CORE_SERVICE_QUEUE_PAIRS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/fabric/service/shared_queues.h"
#include "core/service/port.h"
#include "core/service/trunk_message.h"
#include "core/service/turns.h"
#include "core/service/virtual_queue_pair.h"

namespace skein::service {

class Trunk;
class Trunks;

// skeind's thread.
class QueuePairs {
 public:
  // By number.
  using Map = absl::flat_hash_map<uint32_t, std::shared_ptr<VirtualQueuePair>>;

  explicit QueuePairs(Trunks& trunks) : trunks_(trunks) {}

  // With those that their processes have destroyed, until their numbers are free.
  const Map& all() const { return by_number_; }
  // Lets those post whose turn it is. False: it was nobody's.
  bool ServeTurns();
  bool some_wait_for_turns() const { return !turns_.empty(); }

  // Sessions ask for these.

  // Gives it a number. RESOURCE_EXHAUSTED: there is none left.
  absl::Status Add(const std::shared_ptr<VirtualQueuePair>& queue_pair);
  absl::StatusOr<std::string> Offer(VirtualQueuePair& queue_pair, const Port& port);
  // OK: then Session::AcceptEnded, now or later.
  absl::Status Accept(const std::shared_ptr<VirtualQueuePair>& queue_pair, absl::string_view offer);
  absl::Status Complete(VirtualQueuePair& queue_pair, absl::string_view answer);
  // By its process.
  void Destroyed(const std::shared_ptr<VirtualQueuePair>& queue_pair, fabric::service::End why);

  // Trunks ask for these.

  // A queue pair with an offer out, and its token.
  absl::Status Accepted(Trunk& trunk, const TrunkMessage& connect);
  // The answer to a kConnect.
  void Connected(const std::shared_ptr<VirtualQueuePair>& queue_pair, const absl::Status& status);
  // Its next request names what it may not.
  void Refuse(const std::shared_ptr<VirtualQueuePair>& queue_pair);
  // Both skeinds are through with it, or the trunk is gone.
  void Closed(const std::shared_ptr<VirtualQueuePair>& queue_pair);

  // Both do.

  // It has requests, knows where memory is, or its trunk has space: it has a turn coming.
  void MayGoOn(const std::shared_ptr<VirtualQueuePair>& queue_pair);
  void End(const std::shared_ptr<VirtualQueuePair>& queue_pair, fabric::service::End why);

 private:
  void Serve(const std::shared_ptr<VirtualQueuePair>& queue_pair);
  void FreeIfThrough(const std::shared_ptr<VirtualQueuePair>& queue_pair);

  Trunks& trunks_;
  Map by_number_;
  uint32_t last_number_ = 0;
  Turns turns_;
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_QUEUE_PAIRS_H_
