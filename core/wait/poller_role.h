// Threads that wait for what one source brings, each for something of its own. One of them has the *poller role*: it
// polls the source, or sleeps on its descriptor, and completes the others' waiters. The others sleep, each on a word of
// its own. The thread that leaves the role sees to it that another takes it: it leaves the role to a thread that
// watches it awake, if there is one, and wakes a sleeper otherwise. A watcher that needs the role no more hands this
// duty on.
//
//   A waiter:
//
//   Begin        the deliverer: TryClaim, Complete          Forget
//   idle -> waiting -----------> completing ---> done ------> idle
//             |\__ Abandon -> abandoned __ TryClaim: kAbandoned, idle
//              \__ Cancel -> idle
//
// Written on a policy of atomics, so that a test can run it in every interleaving: SystemAtomics (atomics.h), with a
// time limit beside (`Deadline`, and Park with one).
#ifndef SKEIN_CORE_WAIT_POLLER_ROLE_H_
#define SKEIN_CORE_WAIT_POLLER_ROLE_H_

#include <atomic>
#include <cstdint>

namespace skein::wait {

template <class Policy>
class PollerRole;

// What a thread waits for, once after the other. Outlives every wait and every delivery.
template <class Policy>
class BasicWaiter {
 public:
  // By its owner, before the deliverer hears of it.
  void Begin() { state_.store(kWaiting, std::memory_order_release); }
  // By its owner. What the deliverer wrote is seen.
  bool done() const { return state_.load(std::memory_order_acquire) == kDone; }
  // By its owner, of one that is done.
  void Forget() { state_.store(kIdle, std::memory_order_relaxed); }
  // By its owner, who waits no more. False: too late, it is done.
  bool Abandon() { return Leave(kAbandoned); }
  // The same, where the deliverer may never come, and does not mind that nobody waits (kWrong).
  bool Cancel() { return Leave(kIdle); }

  enum class Claim { kClaimed, kAbandoned, kWrong };
  // By the deliverer, one at a time. kClaimed: Complete follows. kAbandoned: the waiter is idle now. kWrong: nobody has
  // ever waited.
  Claim TryClaim() {
    uint32_t state = state_.load(std::memory_order_relaxed);
    for (;;) {
      if (state == kAbandoned) {
        state_.store(kIdle, std::memory_order_release);
        return Claim::kAbandoned;
      }
      if ((state & ~kFlags) != kWaiting) return Claim::kWrong;
      if (state_.compare_exchange_strong(state, kCompleting | (state & kFlags), std::memory_order_acquire)) {
        return Claim::kClaimed;
      }
    }
  }
  // The last access but to its address. True: its owner sleeps on the source's descriptor, and must be woken there.
  bool Complete() {
    const void* const address = &state_;
    const uint32_t before = state_.exchange(kDone, std::memory_order_release);
    if (before & kParked) Policy::Unpark(address);
    return (before & kOnDescriptor) != 0;
  }

 private:
  friend PollerRole<Policy>;

  enum State : uint32_t { kIdle, kWaiting, kCompleting, kDone, kAbandoned };
  // Beside kWaiting or kCompleting.
  static constexpr uint32_t kParked = 0x80;
  static constexpr uint32_t kOnDescriptor = 0x100;
  static constexpr uint32_t kFlags = kParked | kOnDescriptor;

  bool Leave(State to) {
    uint32_t state = kWaiting;
    return state_.compare_exchange_strong(state, to, std::memory_order_acquire) ||
           !AwaitDone(state, std::memory_order_acquire);
  }
  // False: it is done now.
  bool Mark(uint32_t flag) {
    uint32_t state = kWaiting;
    return state_.compare_exchange_strong(state, kWaiting | flag, std::memory_order_relaxed) ||
           !AwaitDone(state, std::memory_order_relaxed);
  }
  bool Unmark(uint32_t flag) {
    uint32_t marked = kWaiting | flag;
    return state_.compare_exchange_strong(marked, kWaiting, std::memory_order_relaxed);
  }
  // The deliverer is a few instructions away from that.
  bool AwaitDone(uint32_t state, std::memory_order order) {
    while (state != kDone) state = Policy::Await(state_, state, order);
    return true;
  }

  typename Policy::template Atomic<uint32_t> state_{kIdle};
  // Under the lock of the list of sleepers.
  BasicWaiter* before_ = nullptr;
  BasicWaiter* after_ = nullptr;
  bool listed_ = false;
};

template <class Policy>
class PollerRole {
 public:
  using Waiter = BasicWaiter<Policy>;
  using Deadline = typename Policy::Deadline;

  PollerRole() = default;
  PollerRole(const PollerRole&) = delete;
  PollerRole& operator=(const PollerRole&) = delete;

  // Until `waiter` is done: true, or its time is up: false, and it is as it was (see Abandon). `drive` has the role: it
  // polls until the waiter is done, or its time is up, or it wants no more. `watch` spins on the waiter as long as that
  // may pay, while another thread has the role.
  template <class Drive, class Watch>
  bool Wait(Waiter& waiter, const Deadline& deadline, Drive drive, Watch watch) {
    bool relied_on = false;  // the thread that left the role may have left it to this one
    while (!waiter.done()) {
      if (TryTake()) {
        drive();
        Leave();
        relied_on = false;
      } else {
        watchers_.fetch_add(1, std::memory_order_relaxed);
        watch();
        watchers_.fetch_sub(1, std::memory_order_seq_cst);
        relied_on = true;
        if (!waiter.done() && !Policy::Over(deadline)) Sleep(waiter, deadline);
      }
      if (!waiter.done() && Policy::Over(deadline)) break;
    }
    if (relied_on) PassOn();
    return waiter.done();
  }

  // The role for something else than a waiter: false when another thread has it.
  bool TryTake() {
    return role_.load(std::memory_order_relaxed) == kFree && role_.exchange(kTaken, std::memory_order_acquire) == kFree;
  }
  void Leave() {
    role_.store(kFree, std::memory_order_seq_cst);
    PassOn();
  }
  bool taken() const { return role_.load(std::memory_order_relaxed) == kTaken; }

  // By the thread that has the role, around its sleep on the source's descriptor. False: the waiter is done, or about
  // to be.
  static bool BeginSleep(Waiter& waiter) { return waiter.Mark(Waiter::kOnDescriptor); }
  static void EndSleep(Waiter& waiter) { waiter.Unmark(Waiter::kOnDescriptor); }

 private:
  static constexpr uint32_t kFree = 0;
  static constexpr uint32_t kTaken = 1;

  void Sleep(Waiter& waiter, const Deadline& deadline) {
    if (!waiter.Mark(Waiter::kParked)) return;
    Lock();
    Link(waiter);
    Unlock();
    // Listed, then a look at the role; Leave: role, then a look at the list. One of them sees the other.
    if (role_.load(std::memory_order_seq_cst) == kTaken) {
      Policy::Park(waiter.state_, Waiter::kWaiting | Waiter::kParked, deadline);
    }
    Lock();
    if (waiter.listed_) Unlink(waiter);
    Unlock();
    waiter.Unmark(Waiter::kParked);
  }

  // By a thread that needs the role no more: it had the role, or others may have left it to this thread. The role is
  // left, then a look at the watchers; a watcher: it ceases to be one, then a look at the role. One of them sees the
  // other. Where another thread has the role by now, this duty is that thread's.
  void PassOn() {
    if (role_.load(std::memory_order_seq_cst) == kFree && watchers_.load(std::memory_order_seq_cst) == 0) CallNext();
  }

  // Wakes one that sleeps, to take the role. No system call under the lock: a thread that loses its processor there
  // would hold up all others.
  void CallNext() {
    while (sleepers_.load(std::memory_order_seq_cst) > 0) {
      const void* address = nullptr;
      Lock();
      Waiter* const next = first_;
      if (next != nullptr) {
        Unlink(*next);
        // Otherwise a deliverer has claimed it, and wakes its owner.
        if (next->Unmark(Waiter::kParked)) address = &next->state_;
      }
      Unlock();
      if (address == nullptr) continue;
      // Perhaps its owner has gone by now: Unpark touches no memory.
      Policy::Unpark(address);
      return;
    }
  }

  void Lock() {
    while (lock_.exchange(1, std::memory_order_acquire) != 0)
      Policy::Await(lock_, uint32_t{1}, std::memory_order_relaxed);
  }
  void Unlock() { lock_.store(0, std::memory_order_release); }

  void Link(Waiter& waiter) {
    waiter.before_ = nullptr;
    waiter.after_ = first_;
    if (first_ != nullptr) first_->before_ = &waiter;
    first_ = &waiter;
    waiter.listed_ = true;
    sleepers_.store(++listed_, std::memory_order_seq_cst);
  }
  void Unlink(Waiter& waiter) {
    (waiter.before_ == nullptr ? first_ : waiter.before_->after_) = waiter.after_;
    if (waiter.after_ != nullptr) waiter.after_->before_ = waiter.before_;
    waiter.listed_ = false;
    sleepers_.store(--listed_, std::memory_order_seq_cst);
  }

  typename Policy::template Atomic<uint32_t> role_{kFree};
  typename Policy::template Atomic<uint32_t> watchers_{0};  // awake, and about to look at the role again
  typename Policy::template Atomic<uint32_t> sleepers_{0};  // in the list
  typename Policy::template Atomic<uint32_t> lock_{0};      // of the list, for a few instructions
  Waiter* first_ = nullptr;
  uint32_t listed_ = 0;
};

}  // namespace skein::wait

#endif  // SKEIN_CORE_WAIT_POLLER_ROLE_H_
