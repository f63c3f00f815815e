// A background thread polls the sources that no other thread polls just now: those whose last users have gone before
// their last words arrived, those whose users are busy with something else, and those whose users sleep elsewhere (an
// event loop's). The thread sleeps on their descriptors, but that it spins for the last kind; it is there only while
// there are sources.
#ifndef SKEIN_CORE_WAIT_BACKGROUND_POLLER_H_
#define SKEIN_CORE_WAIT_BACKGROUND_POLLER_H_

#include <memory>
#include <vector>

#include "core/wait/source.h"
#include "core/wait/spin_budget.h"

namespace skein::wait {

// Any thread. The background thread polls sources under a lock: their observers may call Add and Nudge, and nothing
// else here.
class BackgroundPoller {
 public:
  explicit BackgroundPoller(const SpinPolicy& policy = {WaitMode::kBlock, absl::ZeroDuration()});
  ~BackgroundPoller();  // drops all sources
  BackgroundPoller(const BackgroundPoller&) = delete;
  BackgroundPoller& operator=(const BackgroundPoller&) = delete;

  // The background thread looks after `source` until Retire says that it is finished, and then drops it. Add waits for
  // no poll. Where the process has no thread left, `source` rests until the next Add.
  void Add(std::shared_ptr<Source> source);
  // All that are left: the caller polls them from now on.
  std::vector<std::shared_ptr<Source>> TakeAll();
  // By a thread that begins to attend a source, and by one that has slept on a source's descriptor: the background
  // thread may have gone to sleep for good, trusting in what that thread now ends. Costs a load when it has not.
  void Nudge();

 private:
  struct Shared;  // with the thread, which may see the end of this object late
  const std::shared_ptr<Shared> shared_;
};

}  // namespace skein::wait

#endif  // SKEIN_CORE_WAIT_BACKGROUND_POLLER_H_
