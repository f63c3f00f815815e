// The sources that are busy: each of several threads polls them for a while before it sleeps (those that wait inside
// gRPC). The other sources tell by their descriptors when something comes.
//
// A busy source need not be armed while a thread polls it, nor while no thread sleeps that would have to be woken. So
// both kinds of threads are counted. The first thread that polls disarms the busy ones. The last one arms them if
// another thread sleeps. A thread that goes to sleep while no thread polls arms them, too.
#ifndef SKEIN_CORE_WAIT_BUSY_SET_H_
#define SKEIN_CORE_WAIT_BUSY_SET_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/wait/source.h"

namespace skein::wait {

// One source's place in the set. The watcher of its descriptor keeps it.
class Busy {
 public:
  explicit Busy(std::shared_ptr<Source> source) : source_(std::move(source)) {}
  virtual ~Busy() = default;

  Source& source() const { return *source_; }
  // Somebody polls it from now on as if its descriptor had become readable, again and again until it is armed.
  virtual void Again() = 0;

 private:
  friend class BusySet;
  const std::shared_ptr<Source> source_;
  std::atomic<bool> used_{false};  // relaxed: since a spin has last ended in vain
  bool removed_ = false;           // under the set's lock
  std::atomic<bool> busy_{false};  // written under the set's lock; relaxed: a hint to the thread that adds it
};

// Any thread. Lock: mu_, under which nothing is called.
class BusySet {
 public:
  // `enabled`: otherwise nothing is ever busy, and all sleep at once.
  explicit BusySet(bool enabled) : enabled_(enabled) {}
  // Something has come or gone by it. True: a thread polls it from now on, and arms it when that ends.
  bool Add(const std::shared_ptr<Busy>& busy);
  // The same, by a caller that does not ask.
  void Use(const std::shared_ptr<Busy>& busy) {
    if (!busy->used_.load(std::memory_order_relaxed)) busy->used_.store(true, std::memory_order_relaxed);
    if (!busy->busy_.load(std::memory_order_relaxed)) Add(busy);
  }
  // By a thread that its descriptor has woken, or that is to come Again: polls it, so many times at most. True: it is
  // armed, or a Poller polls it and arms it when that ends. False: work is left.
  bool Attend(const std::shared_ptr<Busy>& busy, int times);
  // How many times in a row a thread polls one that never has to wait: its peer must not hold the thread.
  static constexpr int kTimes = 4;
  // It is not watched any more, and never busy again. A thread that polls it just now arms it once more.
  void Remove(Busy& busy);

  bool empty() const { return size_.load(std::memory_order_relaxed) == 0; }
  bool anybody_sleeps() const { return sleepers_.load(std::memory_order_seq_cst) > 0; }

  // A thread that polls what is busy, for no time even. Either of the two Ends comes last.
  class Poller {
   public:
    explicit Poller(BusySet& set);
    Poller(const Poller&) = delete;
    Poller& operator=(const Poller&) = delete;

    // True: something came. `thorough`: looks at everything; else at messages.
    bool Poll(bool thorough);
    // Without a sleep to follow.
    void End();
    // In vain, and with a sleep to follow, which EndSleep ends. Those that had not been used before it are not busy
    // any more.
    void EndAsleep();

   private:
    void Refresh();

    BusySet& set_;
    bool disarms_ = false;  // the first of all, before its first Poll: it must not wake the sleepers for what it finds
    uint64_t version_ = 0;
    std::vector<std::shared_ptr<Busy>> polled_;
  };

  // By a thread that is going to sleep while the descriptors are watched. False: not before a Poller has ended asleep.
  bool SleepUnlessBusy() {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    if (size_.load(std::memory_order_seq_cst) == 0) return true;
    EndSleep();
    return false;
  }
  void EndSleep() { sleepers_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  using All = std::vector<std::shared_ptr<Busy>>;

  // A thread polls it just now, and arms it when that ends. Another thread, woken for it in vain, need not arm it, and
  // be woken again by the next message.
  bool IsSpunFor(const Busy& busy);
  static void Arm(const All& all);
  All CoolDown() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void Changed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    version_.fetch_add(1, std::memory_order_relaxed);
    size_.store(all_.size(), std::memory_order_seq_cst);
  }

  const bool enabled_;
  Mutex mu_;
  All all_ ABSL_GUARDED_BY(mu_);
  std::atomic<uint64_t> version_{0};  // of all_; written under mu_, relaxed: read under it when it has changed
  // Of all_; written under mu_. Sequentially consistent, as is a sleeper's coming: either it sees that something is
  // busy, or the thread that spins for that sees the sleeper. One that has gone may be seen for a while, and is armed
  // for in vain.
  std::atomic<size_t> size_{0};
  std::atomic<int> sleepers_{0};
  int spinners_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace skein::wait

#endif  // SKEIN_CORE_WAIT_BUSY_SET_H_
