// How a link grows from one lane to several, and which of them its streams use.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "core/base/fallback.h"
#include "core/link/link.h"
#include "core/wire/bytes.h"
#include "core/wire/lane_messages.h"

namespace skein::link {
void Link::Resize() {
  for (const auto& lane : all_lanes()) {
    const std::optional<uint32_t> contended = lane->TakeContended();
    if (!contended.has_value() || passive_ || last_lane_ != LastLane::kStays) continue;
    const schedule::PoolWish wish = options_.pool(*contended, lanes());
    if (wish == schedule::PoolWish::kMore) OpenLane();
    if (wish == schedule::PoolWish::kFewer) CloseLane();
  }
  bool place = false;
  for (const auto& lane : all_lanes()) place |= lane->TakeUsableChanged();
  if (place && lanes() > 1) placed_ = PlaceStreams();
}

// None while the last one is of no use.
void Link::OpenLane() {
  const auto now = static_cast<uint16_t>(lanes());
  if (now >= std::min(options_.max_lanes, most_lanes_) || !last().usable()) return;
  const absl::StatusOr<Lane*> lane = AddLane();
  const absl::StatusOr<std::string> queue_pair = lane.ok() ? (*lane)->Offer() : lane.status();
  if (lane.ok()) last_lane_ = queue_pair.ok() ? LastLane::kOpening : LastLane::kGone;
  if (!queue_pair.ok()) {
    most_lanes_ = now;  // what lacks for one lane lacks for the next
    return;
  }
  first().SendControl(wire::ItemKind::kOpenLane, wire::Encode(wire::OpenLane{(*lane)->number(), *queue_pair}));
}

absl::Status Link::OnOpenLane(absl::Span<const std::byte> payload) {
  const absl::StatusOr<wire::OpenLane> asked = wire::DecodeOpenLane(wire::CopyOf(payload));
  if (!asked.ok()) return asked.status();
  // One that was refused is asked for no more.
  if (!passive_ || last_lane_ != LastLane::kStays || asked->lane != lanes() || asked->lane >= most_lanes_) {
    return absl::DataLossError("an unexpected request for a lane");
  }
  if (asked->lane < options_.max_lanes && check_peer_(asked->queue_pair).ok()) {
    const absl::StatusOr<Lane*> lane = AddLane();
    if (lane.ok()) {
      const absl::StatusOr<std::string> answer = (*lane)->Accept(asked->queue_pair);
      if (answer.ok()) {
        if (!sender_.has_value() || options_.shares->active(*sender_, asked->lane)) (*lane)->Activate();
        first().SendControl(wire::ItemKind::kLane,
                            wire::Encode(wire::GivenLane{asked->lane, (*lane)->OwnRing(), *answer}));
        return absl::OkStatus();
      }
      last_lane_ = LastLane::kGone;
    }
  }
  most_lanes_ = asked->lane;
  first().SendControl(wire::ItemKind::kNoLane, {});
  return absl::OkStatus();
}

absl::Status Link::OnLane(absl::Span<const std::byte> payload) {
  const absl::StatusOr<wire::GivenLane> given = wire::DecodeGivenLane(wire::CopyOf(payload));
  if (!given.ok()) return given.status();
  if (last_lane_ != LastLane::kOpening || given->lane != last().number()) {
    return absl::DataLossError("an unexpected lane");
  }
  last_lane_ = LastLane::kStays;
  if (absl::Status status = check_peer_(given->queue_pair); !status.ok()) return status;
  if (absl::Status status = last().Complete(given->queue_pair, given->ring); !status.ok()) {
    if (FallbackOf(status).code == FallbackCode::kProtocol) return status;  // a lie
    most_lanes_ = given->lane;
    CloseLane();  // the others go on
    return absl::OkStatus();
  }
  last().SendControl(wire::ItemKind::kHello, wire::EncodeRingDescriptor(last().OwnRing()));
  return absl::OkStatus();
}

absl::Status Link::OnNoLane() {
  if (last_lane_ != LastLane::kOpening) return absl::DataLossError("a lane refused that was not asked for");
  most_lanes_ = last().number();
  last_lane_ = LastLane::kGone;
  return absl::OkStatus();
}

// Where this end may send data. The passive one leaves alone what it has told the peer to leave.
std::vector<uint16_t> Link::UsableLanes() const {
  std::vector<uint16_t> usable;
  for (const auto& lane : all_lanes()) {
    const bool shared = !sender_.has_value() || options_.shares->active(*sender_, lane->number());
    if (lane->usable() && shared) usable.push_back(lane->number());
  }
  return usable;
}

// Where a stream begins: among those lanes the one with the fewest.
Lane& Link::LaneForNewStream() const {
  if (lanes() == 1) return first();
  const std::vector<uint16_t> usable = UsableLanes();
  if (usable.empty()) return first();
  std::vector<size_t> streams;
  streams.reserve(usable.size());
  for (const uint16_t lane : usable) streams.push_back(lanes_[lane]->streams());
  return *lanes_[usable[schedule::PlaceThread(streams)]];
}

// Algorithm 1, when the usable lanes have changed; not now and then: who was starved has sent little, and would be put
// together with others who were. False if some could not be asked to leave just now; then usable lanes change again.
bool Link::PlaceStreams() {
  std::vector<std::shared_ptr<Port>> ports;
  {
    MutexLock lock(&ports_mu_);
    for (const auto& [stream, port] : ports_) ports.push_back(port);
  }
  absl::c_sort(ports, [](const auto& a, const auto& b) { return a->stream() < b->stream(); });
  std::vector<schedule::ThreadLoad> loads;
  loads.reserve(ports.size());
  for (const std::shared_ptr<Port>& port : ports) loads.push_back(Lane::TakeLoad(*port));
  std::vector<uint16_t> usable = UsableLanes();
  // Who has to leave the last lane waits for its turn on the first.
  if (usable.empty() && last_lane_ == LastLane::kVacating) usable.push_back(0);
  const std::vector<uint16_t> to = schedule::AssignThreads(loads, usable);
  bool all = true;
  for (size_t i = 0; i < ports.size(); ++i) {
    // Also to where it is: it may be about to leave.
    all &= lanes_[loads[i].queue_pair]->Move(ports[i], *lanes_[to[i]]);
  }
  return all;
}

}  // namespace skein::link
