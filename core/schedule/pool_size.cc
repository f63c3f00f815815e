#include "core/schedule/pool_size.h"

#include <algorithm>

namespace skein::schedule {

PoolWish PoolSize::operator()(uint32_t percent, size_t queue_pairs) {
  if (may_be_missed_ && ++since_fewer_ >= patience_) {
    may_be_missed_ = false;
    patience_ = std::max(kPatience, patience_ / 2);
  }
  if (percent >= contended_percent_) return Contended();
  // With one fewer, at worst twice as many meet; half of what would open another must be left.
  if (percent >= contended_percent_ / 4 || queue_pairs == 1) {
    calm_ = 0;
    return PoolWish::kAsIs;
  }
  return Calm();
}

PoolWish PoolSize::Contended() {
  calm_ = 0;
  if (may_be_missed_) patience_ = std::min(kMostPatience, 2 * patience_);
  may_be_missed_ = false;
  return PoolWish::kMore;
}

PoolWish PoolSize::Calm() {
  if (++calm_ < patience_) return PoolWish::kAsIs;
  calm_ = 0;
  since_fewer_ = 0;
  may_be_missed_ = true;
  return PoolWish::kFewer;
}

}  // namespace skein::schedule
