// A queue pair that never comes to be connected.
#ifndef SKEIN_TESTS_SUPPORT_REFUSED_QUEUE_PAIR_H_
#define SKEIN_TESTS_SUPPORT_REFUSED_QUEUE_PAIR_H_

#include <memory>
#include <string>
#include <utility>

#include "core/fabric/fabric.h"

namespace skein::fabric {

class RefusedQueuePair final : public QueuePair {
 public:
  // Whether the peer, which has accepted its offer, is to see that it has ended before it hears so otherwise.
  enum class PeerSees : bool { kNothing, kItsEnd };

  RefusedQueuePair(std::unique_ptr<QueuePair> queue_pair, absl::Status why, PeerSees peer_sees)
      : queue_pair_(std::move(queue_pair)), why_(std::move(why)), peer_sees_(peer_sees) {}

  absl::StatusOr<std::string> Offer() override { return queue_pair_->Offer(); }
  absl::StatusOr<std::string> Accept(absl::string_view) override { return why_; }
  absl::Status Complete(absl::string_view) override {
    if (peer_sees_ == PeerSees::kItsEnd) queue_pair_->Close();
    return why_;
  }
  absl::Status PostSend(absl::Span<const SendRequest> batch) override { return queue_pair_->PostSend(batch); }
  absl::Status PostReceive(absl::Span<const ReceiveRequest> batch) override { return queue_pair_->PostReceive(batch); }
  QueuePairState state() const override { return queue_pair_->state(); }
  QueuePairState RefreshState() override { return queue_pair_->RefreshState(); }
  absl::Status error() const override { return queue_pair_->error(); }
  void Close() override { queue_pair_->Close(); }

 private:
  const std::unique_ptr<QueuePair> queue_pair_;
  const absl::Status why_;
  const PeerSees peer_sees_;
};

}  // namespace skein::fabric

#endif  // SKEIN_TESTS_SUPPORT_REFUSED_QUEUE_PAIR_H_
