#include "core/replicate/progress.h"

#include <utility>

namespace skein::replicate {

Progress::Progress(const Schedule& schedule, Shape shape, uint32_t member)
    : has_(shape.blocks, member == 0), there_(member == 0 ? shape.blocks : 0) {
  Part part = schedule.PartOf(shape, member);
  sends_ = std::move(part.sends);
  for (const Transfer& receive : part.receives) arrivals_[receive.peer].blocks.push_back(receive.block);
}

std::optional<uint32_t> Progress::ExpectedFrom(uint32_t peer) const {
  const auto found = arrivals_.find(peer);
  if (found == arrivals_.end() || found->second.next == found->second.blocks.size()) return std::nullopt;
  return found->second.blocks[found->second.next];
}

void Progress::Arrived(uint32_t peer) {
  Arrivals& arrivals = arrivals_[peer];
  has_[arrivals.blocks[arrivals.next++]] = true;
  ++there_;
}

std::optional<Transfer> Progress::NextSend() const {
  if (all_sent() || !has_[sends_[next_send_].block]) return std::nullopt;
  return sends_[next_send_];
}

}  // namespace skein::replicate
