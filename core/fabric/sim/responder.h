// The half of an endpoint that serves the peer's requests, in their order.
#ifndef SKEIN_CORE_FABRIC_SIM_RESPONDER_H_
#define SKEIN_CORE_FABRIC_SIM_RESPONDER_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "core/fabric/fabric.h"
#include "core/fabric/sim/receives.h"
#include "core/fabric/sim/wire.h"
#include "core/fabric/sim/words.h"
#include "core/fabric/sim/world.h"

namespace skein::fabric::sim {

// A WRITE's progress.
struct Landing {
  absl::InlinedVector<Piece, 3> plan;
  size_t landed = 0;   // pieces
  bool waits = false;  // for its next piece's time
};

// Used under World::mu, as is all of its endpoint.
class Responder {
 public:
  // `shared`: nullptr if the endpoint has receives of its own.
  Responder(Endpoint& endpoint, World& world, const QueuePairOptions& options, const SimSharedReceiveQueue* shared);

  absl::Status PostReceive(absl::Span<const ReceiveRequest> batch);
  bool shares_receives() const { return shares_receives_; }
  // The completion of a receive has been polled.
  void Reaped() { receives_->Reaped(); }
  // There are more receives: the first request may wait for one.
  void ReceivesPosted();

  // The peer's next request has arrived, and the NIC is yet to work on it.
  void Arrived(Packet packet);
  // The endpoint is in error: its own receives are flushed, and no request is served any more.
  void Flush();
  // The queue pair is being destroyed.
  void Detach() { receives_->Detach(this); }

 private:
  void Receive();
  void Serve();
  // A Serve* function returns whether the first request is done and gone; false also when it waits (for a receive, for
  // its next piece) or broke the connection.
  bool ServeFirst();
  bool ServeSend(const Packet& packet);
  bool ServeWrite(const Packet& packet);
  bool ServeRead(const Packet& packet);
  bool ServeAtomic(const Packet& packet);
  bool ServeFlush(const Packet& packet);
  // Whether all of it has landed.
  bool Land(const Packet& packet);
  std::byte* Reach(const Packet& packet, size_t size, Access access);
  bool Done(std::vector<std::byte> payload = {});
  bool Refuse(CompletionStatus status, absl::Status error);
  void Send(Answer answer);

  Endpoint& endpoint_;
  World& world_;
  const bool flushes_;
  const bool shares_receives_;
  const std::shared_ptr<Receives> receives_;
  std::deque<Packet> arriving_;  // in this end's NIC
  std::deque<Packet> inbox_;
  std::optional<Landing> landing_;  // of the first of inbox_, once begun
};

}  // namespace skein::fabric::sim

#endif  // SKEIN_CORE_FABRIC_SIM_RESPONDER_H_
