// One end of a reliable connection: what a queue pair is inside. It lives on after its queue pair, as long as something
// of it is on the wire. An arrival that finds its path cut is put off until the path heals.
//
//   Requester                                                   Responder, of the peer
//   Post   -> unacked_ --Transmit--> requests_ --DeliverRequest--> arriving_ -> inbox_ -> Serve
//   Finish <- unacked_ <--DeliverAnswer-- answers_ <--Answered------------------ Send <- Serve
//
// Both tell Reports what becomes of requests and receives. PeerWatch fails the endpoint whose peer does not answer.
#ifndef SKEIN_CORE_FABRIC_SIM_ENDPOINT_H_
#define SKEIN_CORE_FABRIC_SIM_ENDPOINT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "core/fabric/fabric.h"
#include "core/fabric/sim/peer_watch.h"
#include "core/fabric/sim/reports.h"
#include "core/fabric/sim/requester.h"
#include "core/fabric/sim/responder.h"
#include "core/fabric/sim/world.h"

namespace skein::fabric::sim {

// Everything here is used under World::mu.
class Endpoint : public std::enable_shared_from_this<Endpoint> {
 public:
  Endpoint(World& world, std::shared_ptr<DeviceState> device, QueuePair* handle, const QueuePairOptions& options,
           SimCompletionQueue* send_queue, SimCompletionQueue* receive_queue, const SimSharedReceiveQueue* shared);

  absl::StatusOr<std::string> Offer();
  absl::StatusOr<std::string> Accept(absl::string_view offer);
  absl::Status Complete(absl::string_view answer);

  QueuePairState state() const { return state_; }
  bool ready() const { return state_ == QueuePairState::kReady; }
  const absl::Status& error() const { return error_; }
  // The answer to a post of an endpoint that is not ready.
  absl::Status NotReady() const;
  QueuePair* handle() const { return handle_; }

  // The oldest unanswered request completes with `first`, everything else outstanding with kFlushed.
  void Fail(CompletionStatus first, absl::Status error);
  // As Fail, and the peer is told if the configuration says so.
  void Close();
  // The queue pair is being destroyed: Close, and no completion names it any more.
  void Detach();
  // Something that decides whether the peer answers has changed: its state, or the path.
  void PeerChanged();
  // A completion was polled: of the send with this sequence, or of a receive (0).
  void Reaped(uint64_t sequence);
  bool shares_receives() const { return responder_.shares_receives(); }

  Requester& requester() { return requester_; }
  Responder& responder() { return responder_; }
  PeerWatch& peer_watch() { return peer_watch_; }

  // Its parts, and the peer's, ask for these.

  DeviceState& device() const { return *device_; }
  uint64_t number() const { return number_; }
  Reports& reports() { return reports_; }
  std::shared_ptr<Endpoint> peer() const { return peer_.lock(); }
  bool PathOpen() const;
  bool PeerAnswers() const;
  // One of this endpoint's parts, for an event: it keeps the endpoint.
  template <typename Part>
  std::shared_ptr<Part> Shared(Part* part) {
    return {shared_from_this(), part};
  }

 private:
  void HearOfClose();

  World& world_;
  const std::shared_ptr<DeviceState> device_;
  QueuePair* handle_;  // nullptr once destroyed
  const uint64_t number_;

  QueuePairState state_ = QueuePairState::kReset;
  absl::Status error_;
  std::string offer_;
  std::string answer_;  // what Complete must be given
  std::weak_ptr<Endpoint> peer_;
  std::string peer_device_;
  bool peer_closed_ = false;  // is heard of once the path is open

  Reports reports_;
  Requester requester_;
  Responder responder_;
  PeerWatch peer_watch_;
};

}  // namespace skein::fabric::sim

#endif  // SKEIN_CORE_FABRIC_SIM_ENDPOINT_H_
