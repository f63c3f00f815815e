// How an endpoint finds out that its peer has stopped answering.
#ifndef SKEIN_CORE_FABRIC_SIM_PEER_WATCH_H_
#define SKEIN_CORE_FABRIC_SIM_PEER_WATCH_H_

#include "absl/time/time.h"
#include "core/fabric/sim/world.h"

namespace skein::fabric::sim {

// An endpoint that asks, and whose peer cannot answer, fails after SimConfig::retry_time. Used under World::mu, as is
// all of its endpoint.
class PeerWatch {
 public:
  PeerWatch(Endpoint& endpoint, World& world) : endpoint_(endpoint), world_(world) {}

  // Asks the peer whether it is there.
  void Ask();
  // Takes note: the peer's state has changed, or the path. Start is still to come.
  void PeerChanged();
  // Watches the peer, if something has been asked of it that it cannot answer.
  void Start();

 private:
  // When what is unanswered was asked; never, if there is nothing.
  absl::Time AskedSince() const;
  bool AsksInVain() const;
  absl::Time GivesUpAt() const;
  void Look();

  Endpoint& endpoint_;
  World& world_;
  absl::Time unreachable_since_ = absl::InfiniteFuture();
  absl::Time asked_at_ = absl::InfiniteFuture();  // by Ask, and not answered
  bool watching_ = false;                         // a Look is scheduled
};

}  // namespace skein::fabric::sim

#endif  // SKEIN_CORE_FABRIC_SIM_PEER_WATCH_H_
