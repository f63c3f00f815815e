#include "core/fabric/sim/receives.h"

#include "absl/strings/str_cat.h"
#include "core/fabric/sim/endpoint.h"

namespace skein::fabric::sim {

void Receives::Detach(const Endpoint* taker) { std::erase(takers_, taker); }

absl::Status Receives::Post(World& world, const DeviceState& device, absl::Span<const ReceiveRequest> batch) {
  for (const ReceiveRequest& request : batch) {
    absl::Status local = world.regions.Check(device.number, request.buffer, /*may_be_inline=*/false);
    if (!local.ok()) return local;
  }
  if (used_ + batch.size() > max_) {
    return absl::ResourceExhaustedError(absl::StrCat("the receive queue of ", max_, " requests is full"));
  }
  if (batch.empty()) return absl::OkStatus();
  posted_.insert(posted_.end(), batch.begin(), batch.end());
  used_ += batch.size();
  // A request that waits for a receive is sent again by its NIC a while later; the first to come takes it.
  for (Endpoint* taker : takers_) {
    if (!taker->waits_for_service()) continue;
    world.events.After(world.network.Flight(world.random), [self = taker->shared_from_this()] { self->Serve(); });
  }
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
  return receives_->Post(*world_, *device_, batch);
}

}  // namespace skein::fabric::sim
