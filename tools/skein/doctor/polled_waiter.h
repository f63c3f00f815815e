// A waiter for a program of one thread: it polls when it is told to, until what it waits for has come.
#ifndef SKEIN_TOOLS_SKEIN_DOCTOR_POLLED_WAITER_H_
#define SKEIN_TOOLS_SKEIN_DOCTOR_POLLED_WAITER_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "core/wait/source.h"

namespace skein::doctor {

// All on one thread.
class PolledWaiter final : public wait::Watcher {
 public:
  void Watch(std::shared_ptr<wait::Source> source) override { sources_.push_back(std::move(source)); }

  // Polls until `done` or the deadline; sleeps in between. Returns whether it was done. `other_fd`, when readable, ends
  // a sleep, too: it must make `done` true.
  bool RunUntil(const std::function<bool()>& done, absl::Time deadline, int other_fd = -1);
  // Nothing is watched any more: all sources have finished.
  bool idle() const { return sources_.empty(); }

 private:
  bool Poll();
  bool Arm() const;
  void Sleep(absl::Time deadline, int other_fd) const;

  std::vector<std::shared_ptr<wait::Source>> sources_;
};

}  // namespace skein::doctor

#endif  // SKEIN_TOOLS_SKEIN_DOCTOR_POLLED_WAITER_H_
