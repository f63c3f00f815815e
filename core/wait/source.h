// Who polls what. A Source is anything that must be polled for work to arrive (a link); a Waiter is how one adapter
// sleeps until a source has work (gRPC: a descriptor in its pollset; elsewhere: a thread in poll(2)).
#ifndef SKEIN_CORE_WAIT_SOURCE_H_
#define SKEIN_CORE_WAIT_SOURCE_H_

#include <cstdint>
#include <memory>

namespace skein::wait {

// Who looks after a source just now, beside a Caretaker.
enum class Attendance : uint8_t {
  kNobody,
  kCaretaker,  // nobody, and somebody waits for what it brings all the same, elsewhere
  kAwake,      // somebody polls it, or has done so a moment ago
  kAsleep,     // somebody sleeps on its descriptor, and will say so when that is over (Caretaker::Nudge)
};

// Any thread may call any method; concurrent Polls are safe and all but one return false at once.
class Source {
 public:
  virtual ~Source() = default;

  // By who was woken by fd() and will not be so again for what is left there (edge-triggered epoll): the next Poll,
  // whoever's it is, acknowledges the descriptors, though others may have polled since they were armed.
  virtual void Woke() {}

  // Does the work that has arrived, calling the observers of what it concerns, on this thread, with no lock of the
  // source's held. Returns whether messages came; that there is room for what waits to be sent, and such, it does not
  // say.
  virtual bool Poll() = 0;

  // For who spins: whether a message may have come. Looks for nothing else, so Poll now and then, too.
  virtual bool Glance() { return true; }

  // Prepares for sleep. True: every later arrival makes fd() readable. False: work is there already (or arrived
  // meanwhile): Poll again. After waking, call Poll (it acknowledges the descriptors).
  virtual bool Arm() = 0;

  // By who polls from now on, and will arm it again if anybody is to sleep: an arrival need not make fd() readable.
  virtual void Disarm() {}

  // The descriptor to sleep on, owned by the source and valid while it lives. Readable means: Poll. -1 where time is
  // simulated and nobody sleeps.
  virtual int fd() const = 0;

  // True once no more work will ever come: forget this source.
  virtual bool finished() const = 0;

  // For who wants to stop watching: if nobody depends on this source just now and its peer has all it was sent, ends it
  // for good. Returns whether it is finished.
  virtual bool Retire() = 0;

  // By a Caretaker. A moment ago: since the last call.
  virtual Attendance TakeAttendance() { return Attendance::kNobody; }
};

// Implemented by an adapter. Must outlive every connector and listener it was given to.
class Waiter {
 public:
  virtual ~Waiter() = default;
  // From now on Poll `source` whenever it has work, until it is finished(), then drop the reference. Called on any
  // thread, never under a lock of the source's; must not call back into the source before returning.
  virtual void Watch(std::shared_ptr<Source> source) = 0;
};

}  // namespace skein::wait

#endif  // SKEIN_CORE_WAIT_SOURCE_H_
