// How a link gives back a lane that its streams do without.
#include "core/link/link.h"

namespace skein::link {

void Link::CloseLane() {
  if (lanes() == 1) return;
  last_lane_ = LastLane::kVacating;
  last().Vacate();
}

absl::Status Link::OnCloseLane() {
  if (!passive_ || lanes() == 1 || last_lane_ != LastLane::kStays) {
    return absl::DataLossError("an unexpected request to close a lane");
  }
  CloseLane();
  return absl::OkStatus();
}

absl::Status Link::OnLaneClosed() {
  if (last_lane_ != LastLane::kClosing) return absl::DataLossError("a lane closed that was to stay");
  last_lane_ = LastLane::kGone;
  return absl::OkStatus();
}

// When no message is being read, for a peer may say on a lane that it is gone.
bool Link::GoOnClosing() {
  if (last_lane_ == LastLane::kVacating && placed_ && last().IsVacant()) {
    first().SendControl(passive_ ? wire::ItemKind::kLaneClosed : wire::ItemKind::kCloseLane, {});
    last_lane_ = passive_ ? LastLane::kGone : LastLane::kClosing;
  }
  if (last_lane_ != LastLane::kGone) return false;
  DropLane();
  return true;
}

void Link::DropLane() {
  Lane& lane = last();
  bytes_read_before_ += lane.channel().bytes_read();
  lane_count_.store(lane.number(), std::memory_order_release);
  lane.Release();
  last_lane_ = LastLane::kStays;
  if (sender_.has_value()) options_.shares->OnClosed(*sender_, lane.number());
}

}  // namespace skein::link
