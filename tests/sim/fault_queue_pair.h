// A queue pair whose completions can be held back, and whose posts are watched.
#ifndef SKEIN_TESTS_CHAOS_FAULT_QUEUE_PAIR_H_
#define SKEIN_TESTS_CHAOS_FAULT_QUEUE_PAIR_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "core/fabric/fabric.h"
#include "tests/sim/link_end.h"
#include "tests/sim/wire_watch.h"

namespace skein::chaos {

class FaultDevice;
class FaultCompletionQueue;

class FaultQueuePair final : public fabric::QueuePair {
 public:
  FaultQueuePair(FaultDevice& device, std::shared_ptr<LinkEnd> end, std::unique_ptr<fabric::QueuePair> queue_pair,
                 FaultCompletionQueue* send_queue, FaultCompletionQueue* receive_queue,
                 std::shared_ptr<Receives> receives, bool shares_receives);
  ~FaultQueuePair() override;

  // Faults. What is held back comes when that is over, or the queue pair in error.
  void HoldCompletionsUntil(absl::Time until);
  bool holds_completions() const;
  void Fail();
  const std::shared_ptr<LinkEnd>& end() const { return end_; }

  absl::StatusOr<std::string> Offer() override;
  absl::StatusOr<std::string> Accept(absl::string_view offer) override;
  absl::Status Complete(absl::string_view answer) override { return queue_pair_->Complete(answer); }
  absl::Status PostSend(absl::Span<const fabric::SendRequest> batch) override;
  absl::Status PostReceive(absl::Span<const fabric::ReceiveRequest> batch) override;
  fabric::QueuePairState state() const override { return queue_pair_->state(); }
  fabric::QueuePairState RefreshState() override { return queue_pair_->RefreshState(); }
  absl::Status error() const override { return queue_pair_->error(); }
  void Close() override { queue_pair_->Close(); }

  fabric::QueuePair* inner() const { return queue_pair_.get(); }
  uint64_t id() const { return id_; }
  bool shares_receives() const { return shares_receives_; }

 private:
  FaultDevice& device_;
  const std::shared_ptr<LinkEnd> end_;
  const std::unique_ptr<fabric::QueuePair> queue_pair_;
  FaultCompletionQueue* const send_queue_;
  FaultCompletionQueue* const receive_queue_;
  const std::shared_ptr<Receives> receives_;
  const bool shares_receives_;
  const uint64_t id_;
  absl::Time held_until_ = absl::InfinitePast();
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_FAULT_QUEUE_PAIR_H_
