#include "core/fabric/sim/receives.h"

#include "absl/strings/str_cat.h"
#include "core/fabric/sim/responder.h"

namespace skein::fabric::sim {

void Receives::Detach(const Responder* taker) { std::erase(takers_, taker); }

absl::Status Receives::Post(const RegionTable& regions, uint64_t device, absl::Span<const ReceiveRequest> batch) {
  for (const ReceiveRequest& request : batch) {
    absl::Status local = regions.Check(device, request.buffer, /*may_be_inline=*/false);
    if (!local.ok()) return local;
  }
  if (used_ + batch.size() > max_) {
    return absl::ResourceExhaustedError(absl::StrCat("the receive queue of ", max_, " requests is full"));
  }
  if (batch.empty()) return absl::OkStatus();
  posted_.insert(posted_.end(), batch.begin(), batch.end());
  used_ += batch.size();
  for (Responder* taker : takers_) taker->ReceivesPosted();
  return absl::OkStatus();
}

std::optional<ReceiveRequest> Receives::Take() {
  if (posted_.empty()) return std::nullopt;
  const ReceiveRequest first = posted_.front();
  posted_.pop_front();
  return first;
}

absl::Status SimSharedReceiveQueue::PostReceive(absl::Span<const ReceiveRequest> batch) {
  MutexLock lock(&world_->mu);
  if (!device_->alive) {
    return absl::FailedPreconditionError(absl::StrCat("device sim:", device_->name, " was killed"));
  }
  return receives_->Post(world_->regions, device_->number, batch);
}

}  // namespace skein::fabric::sim
