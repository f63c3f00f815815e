// How many queue pairs a sender wants: one more when its threads contend for those it has, one fewer when they have not
// done so for long. FLOCK leaves that open; this is Skein's.
#ifndef SKEIN_CORE_SCHEDULE_POOL_SIZE_H_
#define SKEIN_CORE_SCHEDULE_POOL_SIZE_H_

#include <cstddef>
#include <cstdint>

namespace skein::schedule {

enum class PoolWish : uint8_t { kAsIs, kMore, kFewer };

class PoolSize {
 public:
  // Calm windows in a row before one queue pair goes; more of them, up to the second number, after it was missed.
  static constexpr uint32_t kPatience = 64;
  static constexpr uint32_t kMostPatience = 256 * kPatience;

  explicit PoolSize(uint32_t contended_percent = 12) : contended_percent_(contended_percent) {}

  // A sampling window: of the last messages of one queue pair, whose number is always the same, so many percent had to
  // carry several threads' bytes. The sender has so many queue pairs.
  PoolWish operator()(uint32_t percent, size_t queue_pairs);

 private:
  PoolWish Calm();
  PoolWish Contended();

  uint32_t contended_percent_;
  uint32_t patience_ = kPatience;
  uint32_t calm_ = 0;           // windows
  uint32_t since_fewer_ = 0;    // windows since the last that asked for fewer
  bool may_be_missed_ = false;  // the queue pair that went then
};

}  // namespace skein::schedule

#endif  // SKEIN_CORE_SCHEDULE_POOL_SIZE_H_
