// One write at one member: which of its blocks are there, which comes next from each peer, and which goes next.
#ifndef SKEIN_CORE_REPLICATE_PROGRESS_H_
#define SKEIN_CORE_REPLICATE_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/replicate/schedule.h"

namespace skein::replicate {

// Knows neither bytes nor paths. Not thread-safe.
class Progress {
 public:
  Progress(const Schedule& schedule, Shape shape, uint32_t member);

  // The block that comes next from `peer`; null: none comes.
  std::optional<uint32_t> ExpectedFrom(uint32_t peer) const;
  // That block is there.
  void Arrived(uint32_t peer);

  // The next in the order of steps, if its block is there. A later one does not overtake it: each step's sends need
  // only what came at earlier steps, so nobody waits in a circle.
  std::optional<Transfer> NextSend() const;
  void BeginSend() { ++next_send_; }

  bool complete() const { return there_ == has_.size(); }
  // All sends have begun.
  bool all_sent() const { return next_send_ == sends_.size(); }

 private:
  struct Arrivals {
    std::vector<uint32_t> blocks;
    size_t next = 0;
  };

  std::vector<Transfer> sends_;
  size_t next_send_ = 0;
  absl::flat_hash_map<uint32_t, Arrivals> arrivals_;  // by peer
  std::vector<bool> has_;
  size_t there_ = 0;
};

}  // namespace skein::replicate

#endif  // SKEIN_CORE_REPLICATE_PROGRESS_H_
