#include "bench/durable/background.h"

#include <array>
#include <vector>

namespace skein::bench::durable {

absl::StatusOr<std::unique_ptr<Background>> Background::Start(fabric::Device& from, fabric::Device& to, size_t writes) {
  auto background = std::make_unique<Background>();
  if (absl::Status prepared = background->Prepare(from, to, writes); !prepared.ok()) return prepared;
  return background;
}

absl::Status Background::Prepare(fabric::Device& from, fabric::Device& to, size_t writes) {
  auto source = from.Allocate(kBytes, 0);
  auto target = to.Allocate(kBytes, fabric::kRemoteWrite);
  auto completions = from.CreateCompletionQueue(static_cast<uint32_t>(2 * writes));
  auto peer_completions = to.CreateCompletionQueue(1);
  for (const absl::Status& status :
       {source.status(), target.status(), completions.status(), peer_completions.status()}) {
    if (!status.ok()) return status;
  }
  source_ = *std::move(source);
  target_ = *std::move(target);
  completions_ = *std::move(completions);
  peer_completions_ = *std::move(peer_completions);
  auto queue_pair = from.CreateQueuePair({.send_queue = completions_.get(),
                                          .receive_queue = completions_.get(),
                                          .max_send_requests = static_cast<uint32_t>(writes)});
  if (!queue_pair.ok()) return queue_pair.status();
  auto peer = to.CreateQueuePair({.send_queue = peer_completions_.get(), .receive_queue = peer_completions_.get()});
  if (!peer.ok()) return peer.status();
  queue_pair_ = *std::move(queue_pair);
  peer_ = *std::move(peer);
  const absl::StatusOr<std::string> offer = queue_pair_->Offer();
  if (!offer.ok()) return offer.status();
  const absl::StatusOr<std::string> answer = peer_->Accept(*offer);
  if (!answer.ok()) return answer.status();
  if (absl::Status connected = queue_pair_->Complete(*answer); !connected.ok()) return connected;
  return Post(writes);
}

absl::Status Background::Turn() {
  std::array<fabric::Completion, 64> done;
  const size_t count = completions_->Poll(absl::MakeSpan(done));
  for (size_t i = 0; i < count; ++i) {
    if (done[i].status != fabric::CompletionStatus::kSuccess) {
      return absl::UnavailableError(fabric::CompletionStatusName(done[i].status));
    }
  }
  return Post(count);
}

absl::Status Background::Post(size_t writes) {
  if (writes == 0) return absl::OkStatus();
  const fabric::Segment segment{source_->bytes().data(), kBytes, source_->lkey()};
  std::vector<fabric::SendRequest> batch(writes);
  for (fabric::SendRequest& request : batch) {
    request.opcode = fabric::Opcode::kWrite;
    request.local = {&segment, 1};
    request.remote = target_->remote();
  }
  return queue_pair_->PostSend(batch);
}

}  // namespace skein::bench::durable
