// Streams that come to a lane and leave it.
#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/link/lane.h"

namespace skein::link {

void Lane::Place(Port& port) {
  Visit visit(this);
  port.migration_ = schedule::Migration(number());
  port.lane_.store(this, std::memory_order_release);
  port.on_lane_ = true;
  streams_.fetch_add(1, std::memory_order_relaxed);
}

void Lane::Remove(Port& port) {
  AtLaneOf(port, [&port](Lane& lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lane.place_) {
    port.on_lane_ = false;
    lane.streams_.fetch_sub(1, std::memory_order_relaxed);
    if (port.waits_for_room_) {
      std::erase_if(lane.room_waiters_, [&](const std::weak_ptr<Port>& waiter) {
        const std::shared_ptr<Port> waiting = waiter.lock();
        return waiting == nullptr || waiting.get() == &port;
      });
    }
    std::erase_if(lane.leaving_, [&](const std::shared_ptr<Port>& leaving) { return leaving.get() == &port; });
  });
}

schedule::ThreadLoad Lane::TakeLoad(Port& port) {
  return AtLaneOf(port, [&port](const Lane& lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lane.place_) {
    const schedule::RequestStats load = std::exchange(port.load_, {});
    return schedule::ThreadLoad{lane.number(), load.MedianBytes(), load.requests(), load.bytes()};
  });
}

bool Lane::Move(const std::shared_ptr<Port>& port, Lane& to) {
  Visit visit(this);
  if (!IsHere(*port) || !port->on_lane_ || !MaySend()) return true;
  if (&to == this && !port->migration_.draining()) return true;
  if (HasControlOf(*port)) {
    // That goes first; then streams are placed again.
    Tell(kUsable);
    return false;
  }
  if (port->migration_.draining()) leaving_.erase(absl::c_find(leaving_, port));
  port->migration_.MoveTo(to.number(), channel_->consumed());
  if (&to == this) return true;
  port->next_lane_ = &to;
  Tell(kRoom | kWaits);
  if (port->migration_.draining()) {
    leaving_.push_back(port);
    channel_->AskConsumed();
  } else {
    Leave(port);
  }
  return true;
}

void Lane::Leave(const std::shared_ptr<Port>& port) {
  port->waits_for_room_ = false;
  streams_.fetch_sub(1, std::memory_order_relaxed);
  port->next_lane_->streams_.fetch_add(1, std::memory_order_relaxed);
  port->lane_.store(port->next_lane_, std::memory_order_release);
  moved_.push_back(port);
}

bool Lane::HasControlOf(const Port& port) const {
  return absl::c_any_of(control_, [&](const Control& control) { return control.port.get() == &port; });
}

// Whose bytes here have all been read, and what was said of them meanwhile has been sent.
void Lane::LetGo() {
  const auto gone = std::partition(leaving_.begin(), leaving_.end(), [this](const std::shared_ptr<Port>& port) {
    return HasControlOf(*port) || !port->migration_.OnConsumed(channel_->consumed());
  });
  std::for_each(gone, leaving_.end(), [this](const std::shared_ptr<Port>& port) { Leave(port); });
  leaving_.erase(gone, leaving_.end());
  if (!leaving_.empty()) channel_->AskConsumed();
}

void Lane::Vacate() {
  Visit visit(this);
  stage_ = Stage::kVacating;
  Tell(kUsable);
}

bool Lane::IsVacant() {
  Visit visit(this);
  if (stage_ == Stage::kVacant || !error_.ok()) return stage_ == Stage::kVacant;
  if (streams() > 0 || !moved_.empty() || !control_.empty()) return false;
  // A stream that ended here has not waited until its last items were read.
  if (!last_word_.has_value()) last_word_ = channel_->written();
  const bool vacant = !channel_->met() /* nothing was ever said */ || channel_->consumed() >= *last_word_;
  if (vacant) {
    stage_ = Stage::kVacant;
  } else {
    channel_->AskConsumed();
  }
  return vacant;
}

void Lane::CountMessage(size_t degree) {
  if (degree == 0) return;
  combined_ += degree > 1 ? 1 : 0;
  before_.coalesced += degree > 1 ? 1 : 0;
  if (++messages_ % kMessagesPerThought != 0) return;
  const uint32_t combined = std::exchange(combined_, 0);
  contended_.store(static_cast<int32_t>(100 * combined / kMessagesPerThought), std::memory_order_relaxed);
}

std::optional<uint32_t> Lane::TakeContended() {
  if (contended_.load(std::memory_order_relaxed) < 0) return std::nullopt;
  return static_cast<uint32_t>(contended_.exchange(-1, std::memory_order_relaxed));
}

}  // namespace skein::link
