#include "tests/sim/fault_queue_pair.h"

#include <utility>

#include "tests/sim/fault_device.h"

namespace skein::chaos {
namespace {

// Of all devices: the two ends of a connection are told apart by it.
uint64_t NextId() {
  static uint64_t last = 0;
  return ++last;
}

}  // namespace

FaultQueuePair::FaultQueuePair(FaultDevice& device, std::shared_ptr<LinkEnd> end,
                               std::unique_ptr<fabric::QueuePair> queue_pair, FaultCompletionQueue* send_queue,
                               FaultCompletionQueue* receive_queue, std::shared_ptr<Receives> receives,
                               bool shares_receives)
    : device_(device),
      end_(std::move(end)),
      queue_pair_(std::move(queue_pair)),
      send_queue_(send_queue),
      receive_queue_(receive_queue),
      receives_(std::move(receives)),
      shares_receives_(shares_receives),
      id_(NextId()) {
  ++device_.lent().queue_pairs;
  if (device_.watch() != nullptr) device_.watch()->Add(id_, queue_pair_.get(), receives_, end_);
}

FaultQueuePair::~FaultQueuePair() {
  --device_.lent().queue_pairs;
  send_queue_->Forget(this);
  receive_queue_->Forget(this);
  device_.Forget(this);
  if (device_.watch() != nullptr) device_.watch()->Remove(id_);
}

void FaultQueuePair::HoldCompletionsUntil(absl::Time until) {
  held_until_ = until;
  receives_->late |= holds_completions();
}

bool FaultQueuePair::holds_completions() const {
  return device_.simulation().now() < held_until_ && queue_pair_->state() != fabric::QueuePairState::kError;
}

void FaultQueuePair::Fail() {
  end_->Break();
  device_.simulation().FailQueuePair(queue_pair_.get());
}

absl::StatusOr<std::string> FaultQueuePair::Offer() {
  absl::StatusOr<std::string> offer = queue_pair_->Offer();
  if (offer.ok()) device_.ends().Offered(*offer, end_);
  if (offer.ok() && device_.watch() != nullptr) device_.watch()->Offer(id_, *offer);
  return offer;
}

absl::StatusOr<std::string> FaultQueuePair::Accept(absl::string_view offer) {
  absl::StatusOr<std::string> answer = queue_pair_->Accept(offer);
  if (answer.ok()) device_.ends().Accepted(offer, end_);
  if (answer.ok() && device_.watch() != nullptr) device_.watch()->Accept(id_, offer);
  return answer;
}

absl::Status FaultQueuePair::PostSend(absl::Span<const fabric::SendRequest> batch) {
  absl::Status status = queue_pair_->PostSend(batch);
  if (!status.ok() || device_.watch() == nullptr) return status;
  for (const fabric::SendRequest& request : batch) device_.watch()->OnPosted(id_, request);
  return status;
}

absl::Status FaultQueuePair::PostReceive(absl::Span<const fabric::ReceiveRequest> batch) {
  absl::Status status = queue_pair_->PostReceive(batch);
  if (status.ok()) receives_->posted += batch.size();
  return status;
}

}  // namespace skein::chaos
