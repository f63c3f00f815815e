// One end of a reliable connection: what a queue pair is inside. It lives on after its queue pair, as long as something
// of it is on the wire.
//
//   requester                                    responder
//   PostSend -> unacked_ --Transmit--> wire_ --DeliverRequest--> arriving_ -> inbox_ -> Serve
//   Finish   <- unacked_ <--DeliverAnswer-- answers_ <--Answer------------ Serve
//
// wire_ and answers_ are in order, and an arrival takes whatever is first, so nothing overtakes within a queue pair,
// whatever the times say. An arrival that finds its path cut is put off until the path heals. Both halves tell Reports
// what becomes of requests and receives. PeerWatch fails the endpoint whose peer does not answer.
#ifndef SKEIN_CORE_FABRIC_SIM_ENDPOINT_H_
#define SKEIN_CORE_FABRIC_SIM_ENDPOINT_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "core/fabric/fabric.h"
#include "core/fabric/sim/peer_watch.h"
#include "core/fabric/sim/receives.h"
#include "core/fabric/sim/reports.h"
#include "core/fabric/sim/words.h"
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
  absl::Status PostSend(absl::Span<const SendRequest> batch);
  absl::Status PostReceive(absl::Span<const ReceiveRequest> batch);

  QueuePairState state() const { return state_; }
  const absl::Status& error() const { return error_; }
  bool ready() const { return state_ == QueuePairState::kReady; }
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
  bool shares_receives() const { return shares_receives_; }

  // For its receives, when there are more.
  bool waits_for_service() const { return !inbox_.empty(); }
  void Serve();

  PeerWatch& peer_watch() { return peer_watch_; }

  // Its parts ask for these.

  DeviceState& device() const { return *device_; }
  bool PathOpen() const;
  bool PeerAnswers() const;
  // When the oldest unanswered request was posted; never, if there is none.
  absl::Time oldest_post() const { return unacked_.empty() ? absl::InfiniteFuture() : unacked_.front().posted_at; }
  // One of this endpoint's parts, for an event: it keeps the endpoint.
  template <typename Part>
  std::shared_ptr<Part> Shared(Part* part) {
    return {shared_from_this(), part};
  }

 private:
  struct Outstanding {
    uint64_t sequence = 0;
    SendRequest request;  // but for `local`, which is kept here:
    absl::InlinedVector<Segment, 4> local;
    bool staged = false;  // payload was read at the post
    std::vector<std::byte> payload;
    absl::Time posted_at;
  };
  struct Packet {
    uint64_t sequence = 0;
    SendRequest request;
    std::vector<std::byte> payload;
    size_t read_bytes = 0;
    // A WRITE's progress at the responder.
    bool planned = false;
    absl::InlinedVector<Piece, 3> plan;
    size_t landed = 0;  // pieces
  };
  struct Result {
    uint64_t sequence = 0;
    CompletionStatus status = CompletionStatus::kSuccess;
    std::vector<std::byte> payload;  // READ, atomics
  };

  // endpoint.cc
  void HearOfClose();

  // requester.cc
  absl::Status CheckRequest(const SendRequest& request) const;
  void Enqueue(const SendRequest& request);
  void Transmit(uint64_t sequence, absl::Time end);
  void DeliverRequest();
  void DeliverAnswer();
  void Finish(const Outstanding& done, const Result& result);
  bool Revoked(absl::Span<const Segment> local, const Outstanding& request);
  void ReleaseStalled();

  // responder.cc
  void Receive();
  bool ServeFirst();
  bool ServeSend(Packet& packet);
  bool ServeWrite(Packet& packet);
  bool ServeRead(Packet& packet);
  bool ServeAtomic(Packet& packet);
  bool ServeFlush(Packet& packet);
  bool Land(Packet& packet);
  std::byte* Reach(const Packet& packet, size_t size, Access access);
  bool Done(std::vector<std::byte> payload = {});
  bool Refuse(CompletionStatus status, absl::Status error);
  void Answer(Result result);

  World& world_;
  const std::shared_ptr<DeviceState> device_;
  QueuePair* handle_;  // nullptr once destroyed
  const uint32_t max_send_;
  const uint64_t number_;
  const bool shares_receives_;
  const bool flushes_;
  const std::shared_ptr<Receives> receives_;

  QueuePairState state_ = QueuePairState::kReset;
  absl::Status error_;
  std::string offer_;
  std::string answer_;  // what Complete must be given
  std::weak_ptr<Endpoint> peer_;
  std::string peer_device_;
  bool peer_closed_ = false;  // is heard of once the path is open

  std::deque<Outstanding> unacked_;
  std::deque<Packet> wire_;
  std::deque<Result> answers_;
  size_t stalled_requests_ = 0;  // arrivals put off
  size_t stalled_answers_ = 0;
  absl::Time last_arrival_ = absl::InfinitePast();  // of this end's requests at the peer
  absl::Time last_answer_ = absl::InfinitePast();
  uint64_t last_posted_ = 0;  // sequences
  uint64_t last_reaped_ = 0;

  std::deque<Packet> arriving_;  // in this end's NIC
  std::deque<Packet> inbox_;
  bool landing_ = false;  // the first of inbox_ waits for its next piece's time

  Reports reports_;
  PeerWatch peer_watch_;
};

}  // namespace skein::fabric::sim

#endif  // SKEIN_CORE_FABRIC_SIM_ENDPOINT_H_
