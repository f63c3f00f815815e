// How a link grows from one lane to several, and which of them its streams use.
#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/base/detached.h"
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
  if (lanes() >= std::min(options_.max_lanes, most_lanes_) || !last().usable()) return;
  Lane& next = NextLane();
  const absl::Status opened = next.Open();
  const absl::StatusOr<std::string> queue_pair = opened.ok() ? next.Offer() : opened;
  if (!queue_pair.ok()) return ForgoNextLane();
  last_lane_ = LastLane::kOpening;
  first().SendControl(wire::ItemKind::kOpenLane, wire::Encode(wire::OpenLane{next.number(), *queue_pair}));
}

// The process lacks something for one more lane, or the peer does. So it would for the lanes after that.
void Link::ForgoNextLane() {
  most_lanes_ = static_cast<uint16_t>(lanes());
  last_lane_ = LastLane::kStays;
  if (lanes() < options_.max_lanes) NextLane().Release();
}

absl::Status Link::OnOpenLane(absl::Span<const std::byte> payload) {
  const absl::StatusOr<wire::OpenLane> asked = wire::DecodeOpenLane(wire::CopyOf(payload));
  if (!asked.ok()) return asked.status();
  // One that was refused is asked for no more.
  if (!passive_ || last_lane_ != LastLane::kStays || asked->lane != lanes() || asked->lane >= most_lanes_) {
    return absl::DataLossError("an unexpected request for a lane");
  }
  if (asked->lane >= options_.max_lanes || !check_peer_(asked->queue_pair).ok()) {
    GiveNextLane(absl::ResourceExhaustedError("refused"));
    return absl::OkStatus();
  }
  return ConnectNextLane([offer = asked->queue_pair](Lane& next) -> absl::StatusOr<Answer> {
    if (absl::Status status = next.Open(); !status.ok()) return status;
    absl::StatusOr<Answer> answer = next.Accept(offer);
    if (!answer.ok()) return answer.status();
    return *std::move(answer);
  });
}

absl::Status Link::OnLane(absl::Span<const std::byte> payload) {
  const absl::StatusOr<wire::GivenLane> given = wire::DecodeGivenLane(wire::CopyOf(payload));
  if (!given.ok()) return given.status();
  if (last_lane_ != LastLane::kOpening || given->lane != lanes()) return absl::DataLossError("an unexpected lane");
  if (absl::Status status = check_peer_(given->queue_pair); !status.ok()) return status;
  return ConnectNextLane([given = *given](Lane& next) -> absl::StatusOr<Answer> {
    Answer answer{given.queue_pair, given.ring};
    if (absl::Status status = next.Complete(answer); !status.ok()) return status;
    return answer;
  });
}

absl::Status Link::OnNoLane() {
  if (last_lane_ != LastLane::kOpening) return absl::DataLossError("a lane refused that was not asked for");
  ForgoNextLane();
  return absl::OkStatus();
}

// The poller connects the lane itself where that is quick. Elsewhere a thread of its own does, and the poller goes on;
// at its end that thread wakes the link's sleeper, and the next poll finds the result. Nobody else touches the lane
// meanwhile, because lanes() does not count it yet.
absl::Status Link::ConnectNextLane(Connect connect) {
  Lane& next = NextLane();
  last_lane_ = LastLane::kConnecting;
  if (!traits().connects_slowly) {
    connection_ = connect(next);
    return OnConnected();
  }
  const bool begun = StartDetached("skein-lane", [self = shared_from_this(), connect = std::move(connect), &next] {
    self->connection_ = connect(next);
    self->connected_.store(true, std::memory_order_release);
    self->group_->Wake();
  });
  if (begun) return absl::OkStatus();
  connection_ = absl::ResourceExhaustedError("there is no thread to connect a lane");
  return OnConnected();
}

absl::Status Link::OnConnected() {
  connected_.store(false, std::memory_order_relaxed);
  last_lane_ = LastLane::kStays;
  if (!passive_) return TakeNextLane(connection_.status());
  GiveNextLane(connection_);
  return absl::OkStatus();
}

void Link::GiveNextLane(const absl::StatusOr<Answer>& answer) {
  if (!answer.ok()) {
    ForgoNextLane();
    return first().SendControl(wire::ItemKind::kNoLane, {});
  }
  CountNextLane();
  if (!sender_.has_value() || options_.shares->active(*sender_, last().number())) last().Activate();
  first().SendControl(wire::ItemKind::kLane,
                      wire::Encode(wire::GivenLane{last().number(), answer->ring, answer->connection}));
}

absl::Status Link::TakeNextLane(const absl::Status& completed) {
  if (FallbackOf(completed).code == FallbackCode::kProtocol) return completed;  // a lie
  CountNextLane();
  if (completed.ok()) {
    last().SendControl(wire::ItemKind::kHello, last().Greeting());
  } else {
    most_lanes_ = last().number();
    CloseLane();  // the others go on
  }
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
