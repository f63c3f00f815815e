// Which of the peers that connect to this process may send just now: the receiver's side of FLOCK's scheduling (thesis
// 3.4.1), for all links that it has accepted.
//
// More peers than may be active take turns. Renewals end turns. When the peers whose turn it is fall silent, only time
// can tell: so Shares are a source of work then, whose descriptor is a timer that runs while a peer waits.
#ifndef SKEIN_CORE_LINK_SHARES_H_
#define SKEIN_CORE_LINK_SHARES_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/mutex.h"
#include "core/base/unique_fd.h"
#include "core/schedule/turns.h"
#include "core/wait/source.h"

namespace skein::link {

// Thread-safe. Lock: mu_, a leaf: members are called without it.
class Shares final : public wait::Source {
 public:
  using Sender = schedule::Turns::Sender;
  // What a peer's link does when it is the peer's turn. Any thread; may come late, or for nothing.
  using Activate = std::function<void()>;

  // The least time before a silent peer's turn is over.
  static constexpr absl::Duration kTurn = absl::Microseconds(500);

  explicit Shares(uint32_t max_active = schedule::kMaxActiveQueuePairs) : Shares(max_active, kTurn, Now) {}
  Shares(uint32_t max_active, absl::Duration turn, std::function<absl::Time()> now)
      : turn_(turn), now_(std::move(now)), turns_(max_active), interval_began_(now_()) {}

  // The peer is active from the beginning. An error if it is one more than there are places, and there is no descriptor
  // for the timer of turns: then nobody's turn has changed.
  absl::StatusOr<Sender> Join(Activate activate);
  void Leave(Sender sender);
  // Whether the peer may go on. Ends an interval that is over: a process without traffic needs no timer.
  bool Renew(Sender sender);
  bool active(Sender sender) const;

  // True, once, when peers have begun to take turns: the owner of the shares has them watched from now on.
  bool BeginToWatch();
  // Nobody joins any more: finished when all have left.
  void Close();
  bool Poll() override;
  bool Glance() override { return false; }  // turns take far longer than a spin's thorough looks are apart
  bool Arm() override;
  int fd() const override;
  bool finished() const override;
  bool Retire() override { return finished(); }

 private:
  using Activations = std::vector<Activate>;

  // By a clock that nobody sets.
  static absl::Time Now() {
    return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
  }
  absl::Time IntervalEnd() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return interval_began_ + turn_; }
  Activations EndInterval() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Add(Sender sender, Activations& to) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool over() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return closed_ && members_.empty(); }
  void SetTimer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const absl::Duration turn_;
  const std::function<absl::Time()> now_;
  mutable Mutex mu_;
  schedule::Turns turns_ ABSL_GUARDED_BY(mu_);
  absl::Time interval_began_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<Sender, Activate> members_ ABSL_GUARDED_BY(mu_);
  UniqueFd timer_ ABSL_GUARDED_BY(mu_);  // from the first turns on
  bool timer_runs_ ABSL_GUARDED_BY(mu_) = false;
  bool watched_ ABSL_GUARDED_BY(mu_) = false;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_SHARES_H_
