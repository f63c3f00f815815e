#include "core/channel/shm/shm_channel.h"

#include <utility>

#include "core/channel/shm/handover.h"
#include "core/channel/shm/shm_group.h"
#include "core/trace/probes.h"

namespace skein::channel::shm {
namespace {

// What data leaves free, for control.
constexpr size_t kReserve = 4096;
// Less is not worth a message: its writer would send crumbs to a reader that frees crumbs.
constexpr size_t kLeastData = 1024;

size_t ReserveOf(Use use) { return use == Use::kData ? kReserve : 0; }

}  // namespace

// Sending ---------------------------------------------------------------------------------------------------------

void ShmChannel::EndAsBroken() {
  End({absl::DataLossError("the peer consumed what was not published"), EndState::kBroken});
}

size_t ShmChannel::SpaceNow(Use use) {
  const size_t space = writer().Space(ReserveOf(use));
  if (writer().broken()) EndAsBroken();
  return use == Use::kData && space < kLeastData ? 0 : space;
}

size_t ShmChannel::Space(Use use) {
  if (!met() || !connected()) return 0;
  const size_t space = SpaceNow(use);
  if (space >= wire::ItemBytes(writer().LargestItemNow())) return space;
  // It may be too little: the peer wakes this end when it has read half of what lies there, for less is not worth it.
  // An earlier wish that has come true stays until Heed: somebody waits for that.
  if (!Handover<>::Reached(own().wakes_at, peers().consumed)) {
    const uint64_t unread = writer().position() - writer().consumed();
    Handover<>::WakeAt(own().wakes_at, writer().consumed() + unread / (2 * kUnit) * kUnit);
  }
  return SpaceNow(use);
}

bool ShmChannel::Fits(size_t bytes, Use use) { return met() && connected() && writer().Fits(bytes, ReserveOf(use)); }

absl::Status ShmChannel::Heed() {
  if (met() && Handover<>::Reached(own().wakes_at, peers().consumed)) Handover<>::NeedNotWake(own().wakes_at);
  return absl::OkStatus();
}

absl::Status ShmChannel::Lay(absl::Span<OutItem> items, Use use) {
  if (!met()) return absl::FailedPreconditionError("the channel has not met its peer");
  if (!connected()) return why_ended();
  absl::Status status = writer().Lay(items, ReserveOf(use));
  if (status.ok()) return status;
  if (writer().broken()) EndAsBroken();
  if (writer().refused()) {
    // Perhaps just now, and Space had counted on it: there is less space now, and no peer will tell.
    Handover<>::WakeAt(own().wakes_at, writer().consumed());
    group().Wake();
  }
  return status;
}

absl::Status ShmChannel::Publish(uint64_t stage_time) {
  if (!connected()) return why_ended();
  const uint64_t position = writer().Commit(stage_time);
  if (Handover<>::Publish(own().published, position, peers().sleeps)) EndIf(liveness().Ring());
  return absl::OkStatus();
}

// The peer's memory -----------------------------------------------------------------------------------------------

absl::StatusOr<fabric::CompletionStatus> ShmChannel::Execute(const fabric::SendRequest& operation) {
  if (!ready() || !connected()) return fabric::CompletionStatus::kFlushed;
  liveness().LookNowAndThen();
  EndIfPeerHas();
  if (!connected()) return fabric::CompletionStatus::kFlushed;
  const PeerRegion* region = peer_memory().Find(operation.remote.rkey);
  if (region == nullptr) {
    // The peer has passed it before it told its key: it is in the socket, with what the sleeper waits for.
    Acknowledge(/*all=*/true);
    group().Wake();
    if (!connected()) return fabric::CompletionStatus::kFlushed;
    region = peer_memory().Find(operation.remote.rkey);
  }
  absl::Status done = shm::Execute(operation, region);
  if (done.ok()) return fabric::CompletionStatus::kSuccess;
  if (!absl::IsPermissionDenied(done)) return done;
  End({std::move(done)});  // as a queue pair ends by it
  return fabric::CompletionStatus::kRemoteAccessError;
}

absl::Status ShmChannel::Pass(const fabric::MemoryRegion& region) {
  const auto* const ours = dynamic_cast<const Region*>(&region);
  if (ours == nullptr) return absl::FailedPreconditionError("memory that shared memory cannot pass");
  if (ours->memfd() < 0) return absl::OkStatus();
  if (!ready() || !connected()) return absl::UnavailableError("the connection has ended");
  return passed_memory_.Pass(*ours, liveness());
}

// Receiving -------------------------------------------------------------------------------------------------------

absl::StatusOr<std::optional<InMessage>> ShmChannel::Next() {
  if (!ready()) return std::nullopt;
  if (absl::Status status = reader().Look(); !status.ok()) {
    End({status, EndState::kBroken});
    return status;
  }
  return reader().next();
}

void ShmChannel::Pop() {
  const size_t bytes = reader().Pop();
  trace::probes::Received(this, bytes);
  bytes_read_.store(reader().position(), std::memory_order_relaxed);
  messages_read_.store(messages_read() + 1, std::memory_order_relaxed);
}

// Reading makes no upkeep due: false.
bool ShmChannel::AfterReading() {
  if (!ready() || !connected()) return false;
  if (Handover<>::Consumed(reader().position(), peers().wakes_at, peers().sleeps)) EndIf(liveness().Ring());
  return false;
}

bool ShmChannel::MoreSpace() { return met() && Handover<>::Reached(own().wakes_at, peers().consumed); }

}  // namespace skein::channel::shm
