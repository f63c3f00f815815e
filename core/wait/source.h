// What must be polled for work to arrive (a link), and who sees to that.
#ifndef SKEIN_CORE_WAIT_SOURCE_H_
#define SKEIN_CORE_WAIT_SOURCE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "core/fabric/fabric.h"

namespace skein::wait {

// Which thread looks after a source just now, beside the background thread.
enum class Attendance : uint8_t {
  kNone,
  kBackground,  // none, and a user waits elsewhere for what the source brings
  kAwake,       // a thread polls it, or has done so a moment ago
  kAsleep,      // a thread sleeps on its descriptor, and will say when that is over (BackgroundPoller::Nudge)
};

// Any thread may call any method; concurrent Polls are safe and all but one return false at once.
class Source {
 public:
  virtual ~Source() = default;

  // By a thread that fd() has woken and will not wake again for what is left there (edge-triggered epoll): the next
  // Poll by any thread acknowledges the descriptors, though others may have polled since they were armed.
  virtual void Woke() {}

  // Does the work that has arrived, calling the observers of what it concerns, on this thread, with no lock of the
  // source's held. Returns whether messages came; that there is free space for what waits to be sent, it does not
  // say.
  virtual bool Poll() = 0;

  // For spinning threads: whether a message may have come. Looks for nothing else, so Poll now and then, too.
  virtual bool Glance() { return true; }

  // Prepares for sleep. True: every later arrival makes fd() readable. False: work is there already (or arrived
  // meanwhile): Poll again. After waking, call Poll (it acknowledges the descriptors).
  virtual bool Arm() = 0;

  // By a thread that polls from now on, and will arm it again before any thread sleeps: an arrival need not make fd()
  // readable.
  virtual void Disarm() {}

  // The descriptor to sleep on, owned by the source and valid while it lives. Readable means: Poll. -1 where time is
  // simulated and nobody sleeps.
  virtual int fd() const = 0;

  // True once no more work will ever come: forget this source.
  virtual bool finished() const = 0;

  // By its watcher, which wants to stop watching: if nobody depends on this source just now and its peer has all it was
  // sent, ends it for good. Returns whether it is finished.
  virtual bool Retire() = 0;

  // By the background thread. A moment ago: since the last call.
  virtual Attendance TakeAttendance() { return Attendance::kNone; }
};

// A source for which several threads of the process wait: a WaitSet has them share its polling.
class SharedSource : public Source {
 public:
  // Takes all that had arrived before the call; a sleeper still wakes for the rest. False: another thread is polling,
  // and may have hold of something.
  virtual bool Drain() = 0;
  // Whether a thread polls just now: a hint.
  virtual bool polled() const = 0;

  // Between the two, what is sent need not wake a peer that is awake: the caller polls. By one thread at a time.
  virtual void BeginQuiet() {}
  virtual void EndQuiet() {}
  // From now on a thread of this end polls without end: the peer need never wake one.
  virtual void NeverSleeps() {}

  // Sleeps on fd() and `also`; see fabric::CompletionQueue, as for the next two.
  virtual fabric::CompletionQueue::Woken Sleep(int also, int timeout_ms) = 0;
  virtual absl::Status Watch(int fd) = 0;
  virtual void Forget(int fd) = 0;
  // Ends a sleep on fd(), whichever thread sleeps.
  virtual void WakeSleeper() = 0;

  // Ends it; the next Poll tells all that wait for it.
  virtual void Close() = 0;
};

// Implemented by an adapter. Must outlive every connector and listener it was given to.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // From now on Poll `source` whenever it has work, until it is finished(), then drop the reference. Called on any
  // thread, never under a lock of the source's; must not call back into the source before returning.
  virtual void Watch(std::shared_ptr<Source> source) = 0;
};

}  // namespace skein::wait

#endif  // SKEIN_CORE_WAIT_SOURCE_H_
