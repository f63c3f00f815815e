// Work for a moment later, unless it has become needless by then. A BackgroundPoller's thread does it: the timer is one
// more of its sources.
#ifndef SKEIN_CORE_WAIT_REMINDERS_H_
#define SKEIN_CORE_WAIT_REMINDERS_H_

#include <chrono>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/deadline.h"
#include "core/base/mutex.h"
#include "core/base/unique_fd.h"
#include "core/wait/source.h"

namespace skein::wait {

class Reminder {
 public:
  virtual ~Reminder() = default;
  // By the background thread, which is not to wait for anybody. True: again after another moment.
  virtual bool Due() = 0;
};

// Any thread. Lock: mu_, a leaf, held over the timer's system call.
class Reminders final : public Source {
 public:
  // A moment with a reminder costs one system call and one wake-up, however many reminders it has.
  static constexpr std::chrono::milliseconds kMoment{5};

  Reminders();
  bool valid() const { return timer_.valid(); }  // false: there is no timer to be had

  // Once, at the end of the moment that has begun, or begins now.
  void Remind(std::weak_ptr<Reminder> reminder);

  bool Poll() override;
  bool Arm() override { return true; }  // the descriptor stays readable until the next Poll
  int fd() const override { return timer_.get(); }
  bool finished() const override { return false; }
  bool Retire() override { return false; }

 private:
  void SetTimer(std::chrono::nanoseconds time) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const UniqueFd timer_;
  Mutex mu_;
  std::vector<std::weak_ptr<Reminder>> waiting_ ABSL_GUARDED_BY(mu_);
  Deadline end_ ABSL_GUARDED_BY(mu_) = Deadline::max();  // of the moment; nothing waits: there is none
};

}  // namespace skein::wait

#endif  // SKEIN_CORE_WAIT_REMINDERS_H_
