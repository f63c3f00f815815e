// The half of an endpoint that sends requests and takes their answers.
#ifndef SKEIN_CORE_FABRIC_SIM_REQUESTER_H_
#define SKEIN_CORE_FABRIC_SIM_REQUESTER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "core/fabric/fabric.h"
#include "core/fabric/sim/wire.h"
#include "core/fabric/sim/world.h"

namespace skein::fabric::sim {

// Used under World::mu, as is all of its endpoint.
class Requester {
 public:
  Requester(Endpoint& endpoint, World& world, const QueuePairOptions& options)
      : endpoint_(endpoint), world_(world), max_send_(options.max_send_requests), flushes_(options.flushes) {}

  absl::Status Post(absl::Span<const SendRequest> batch);
  // The completion of the send with this sequence has been polled: its slot is free, and those of all before.
  void Reaped(uint64_t sequence) { last_reaped_ = sequence; }
  // When the oldest unanswered request was posted; never, if there is none.
  absl::Time oldest_post() const { return unacked_.empty() ? absl::InfiniteFuture() : unacked_.front().posted_at; }

  // The peer has sent an answer. It arrives at `earliest`, but not before those sent before.
  void Answered(Answer answer, absl::Time earliest);
  // The path is open, or the peer ready: the requests that were put off are on their way again.
  void SendAgain();
  // The endpoint is in error: the oldest unanswered request completes with `first`, the others with kFlushed.
  void Flush(CompletionStatus first);

 private:
  struct Outstanding {
    uint64_t sequence = 0;
    SendRequest request;  // but for `local`, which is kept here:
    absl::InlinedVector<Segment, 4> local;
    bool staged = false;  // payload was read at the post
    std::vector<std::byte> payload;
    absl::Time posted_at;
  };

  absl::Status Check(const SendRequest& request) const;
  void Enqueue(const SendRequest& request);
  void Transmit(uint64_t sequence, absl::Time end);
  void DeliverRequest();
  void DeliverAnswer();
  void Finish(const Outstanding& done, const Answer& answer);
  // Whether a region is gone that the NIC is about to use.
  bool Revoked(const Outstanding& request) const;

  Endpoint& endpoint_;
  World& world_;
  const uint32_t max_send_;
  const bool flushes_;
  std::deque<Outstanding> unacked_;
  Wire<Packet> requests_;
  Wire<Answer> answers_;
  uint64_t last_posted_ = 0;  // sequences
  uint64_t last_reaped_ = 0;
};

}  // namespace skein::fabric::sim

#endif  // SKEIN_CORE_FABRIC_SIM_REQUESTER_H_
