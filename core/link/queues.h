// What the lanes of a link share: the completion queue, and receives where that is no worse than each having its own.
#ifndef SKEIN_CORE_LINK_QUEUES_H_
#define SKEIN_CORE_LINK_QUEUES_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "core/fabric/fabric.h"
#include "core/schedule/credits.h"

namespace skein::link {

class Lane;

// Any thread. Lock: mu_, the last of a link's; the lanes' OnCompletion is called under it.
class Queues {
 public:
  static absl::StatusOr<std::unique_ptr<Queues>> Create(fabric::Device& device, uint32_t lanes);

  fabric::CompletionQueue& completions() { return *completions_; }
  // Requests that each lane may have outstanding.
  static constexpr uint32_t kSends = 128;
  // Of each lane: what its peer's credits allow on the way, and words on credits, which cost none.
  static constexpr uint32_t kNeeded = 2 * schedule::kDefaultCredits + schedule::kReservedCredits + 8;
  // So many are posted besides, and again together when they are used up: of those above none is missing meanwhile.
  static constexpr uint32_t kSpare = kNeeded / 3;
  static constexpr uint32_t kReceives = kNeeded + kSpare;

  // For CreateQueuePair.
  fabric::QueuePairOptions options() const;
  // A lane is told of its completions from Add until Remove.
  void Add(Lane* lane) ABSL_LOCKS_EXCLUDED(mu_);
  void Remove(Lane* lane) ABSL_LOCKS_EXCLUDED(mu_);
  // Posts a lane's receives; once it can. Shared ones stay when their lane goes, for the next.
  absl::Status PostReceives(fabric::QueuePair& queue_pair) ABSL_LOCKS_EXCLUDED(mu_);
  void TakeBackReceives() ABSL_LOCKS_EXCLUDED(mu_);

  // Takes what has completed, for all lanes.
  void Poll() ABSL_LOCKS_EXCLUDED(mu_);
  // Whether sends have completed since this was last asked.
  bool TakeSendsCompleted() ABSL_LOCKS_EXCLUDED(mu_);
  bool sends_completed() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  Queues(std::unique_ptr<fabric::CompletionQueue> completions, std::unique_ptr<fabric::SharedReceiveQueue> receives)
      : completions_(std::move(completions)), receives_(std::move(receives)) {}

  const std::unique_ptr<fabric::CompletionQueue> completions_;
  const std::unique_ptr<fabric::SharedReceiveQueue> receives_;  // null: each lane has its own
  Mutex mu_;
  std::array<fabric::Completion, 32> polled_
      ABSL_GUARDED_BY(mu_);  // room for one Poll: to clear it costs more than the poll
  absl::InlinedVector<Lane*, 4> lanes_ ABSL_GUARDED_BY(mu_);
  bool sends_completed_ ABSL_GUARDED_BY(mu_) = false;
  size_t receives_to_post_ ABSL_GUARDED_BY(mu_) = 0;  // shared ones
  size_t lanes_provided_ ABSL_GUARDED_BY(mu_) = 0;    // for which there are shared receives, though they have gone
};

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_QUEUES_H_
