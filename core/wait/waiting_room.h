// Threads that wait for what one source brings, each for something of its own. One of them has the *seat*: it polls the
// source, or sleeps on its descriptor, and brings the others theirs. The others sleep, each on a word of its own. The
// thread that gets up sees to it that another takes the seat: it leaves the seat to a thread that watches it awake, if
// there is one, and wakes a sleeper otherwise. A watcher that needs the seat no more hands this duty on.
//
//   Begin        Deliver: TakeUp, Bring                    Forget
//   idle -> waiting -----------> bringing ---> done ------> idle
//             |\__ Abandon -> abandoned __ TakeUp: false, idle
//              \__ Cancel -> idle
//
// Written on a policy of atomics, as core/coalesce is (its atomics.h), so that a test can run it in every interleaving.
// The policy also has a time limit: `Deadline`, and Park with one.
#ifndef SKEIN_CORE_WAIT_WAITING_ROOM_H_
#define SKEIN_CORE_WAIT_WAITING_ROOM_H_

#include <atomic>
#include <cstdint>

namespace skein::wait {

template <class Policy>
class WaitingRoom;

// What a thread waits for, once after the other. Outlives every wait and every delivery.
template <class Policy>
class Ticket {
 public:
  // By its owner, before whoever may deliver hears of it.
  void Begin() { state_.store(kWaiting, std::memory_order_release); }
  // By its owner. What the deliverer wrote is seen.
  bool done() const { return state_.load(std::memory_order_acquire) == kDone; }
  // By its owner, of one that is done.
  void Forget() { state_.store(kIdle, std::memory_order_relaxed); }
  // By its owner, who waits no more. False: too late, it is done.
  bool Abandon() {
    uint32_t state = kWaiting;
    if (state_.compare_exchange_strong(state, kAbandoned, std::memory_order_acquire)) {
      return true;
    }
    while (state != kDone) state = Policy::Await(state_, state, std::memory_order_acquire);
    return false;
  }

  // The same, where whoever delivers may never do so, and does not mind that nobody waits (kWrong).
  bool Cancel() {
    uint32_t state = kWaiting;
    if (state_.compare_exchange_strong(state, kIdle, std::memory_order_acquire)) return true;
    while (state != kDone) state = Policy::Await(state_, state, std::memory_order_acquire);
    return false;
  }

  enum class Claim { kBring, kNobody, kWrong };
  // By who delivers, one at a time. kBring: Bring follows. kNobody: it was abandoned, and is idle now. kWrong: nobody
  // has ever waited for it.
  Claim TakeUp() {
    uint32_t state = state_.load(std::memory_order_relaxed);
    for (;;) {
      if (state == kAbandoned) {
        state_.store(kIdle, std::memory_order_release);
        return Claim::kNobody;
      }
      if ((state & ~kFlags) != kWaiting) return Claim::kWrong;
      if (state_.compare_exchange_strong(state, kBringing | (state & kFlags), std::memory_order_acquire)) {
        return Claim::kBring;
      }
    }
  }
  // The last access but to its address. True: its owner sleeps on the source's descriptor, and must be woken there.
  bool Bring() {
    const void* const address = &state_;
    const uint32_t before = state_.exchange(kDone, std::memory_order_release);
    if (before & kParked) Policy::Unpark(address);
    return (before & kOnDescriptor) != 0;
  }

 private:
  friend WaitingRoom<Policy>;

  enum State : uint32_t { kIdle, kWaiting, kBringing, kDone, kAbandoned };
  // Beside kWaiting or kBringing.
  static constexpr uint32_t kParked = 0x80;
  static constexpr uint32_t kOnDescriptor = 0x100;
  static constexpr uint32_t kFlags = kParked | kOnDescriptor;

  // False: it is done now.
  bool Mark(uint32_t flag) {
    uint32_t state = kWaiting;
    if (state_.compare_exchange_strong(state, kWaiting | flag, std::memory_order_relaxed)) return true;
    while (state != kDone) state = Policy::Await(state_, state, std::memory_order_relaxed);
    return false;
  }
  bool Unmark(uint32_t flag) {
    uint32_t marked = kWaiting | flag;
    return state_.compare_exchange_strong(marked, kWaiting, std::memory_order_relaxed);
  }

  typename Policy::template Atomic<uint32_t> state_{kIdle};
  // Under the room's lock.
  Ticket* before_ = nullptr;
  Ticket* after_ = nullptr;
  bool listed_ = false;
};

template <class Policy>
class WaitingRoom {
 public:
  using T = Ticket<Policy>;
  using Deadline = typename Policy::Deadline;

  WaitingRoom() = default;
  WaitingRoom(const WaitingRoom&) = delete;
  WaitingRoom& operator=(const WaitingRoom&) = delete;

  // Until `ticket` is done: true, or its time is up: false, and it is as it was (see Abandon). `drive` has the seat: it
  // polls until the ticket is done, or its time is up, or it wants no more. `patient` spins on the ticket as long as
  // that may pay, while another thread has the seat.
  template <class Drive, class Patient>
  bool Wait(T& ticket, const Deadline& deadline, Drive drive, Patient patient) {
    bool relied_on = false;  // the thread that got up may have left the seat to this one
    while (!ticket.done()) {
      if (TrySit()) {
        drive();
        GetUp();
        relied_on = false;
      } else {
        watchers_.fetch_add(1, std::memory_order_relaxed);
        patient();
        watchers_.fetch_sub(1, std::memory_order_seq_cst);
        relied_on = true;
        if (!ticket.done() && !Policy::Over(deadline)) Sleep(ticket, deadline);
      }
      if (!ticket.done() && Policy::Over(deadline)) break;
    }
    if (relied_on) PassOn();
    return ticket.done();
  }

  // The seat for something else than a ticket: false when it is taken.
  bool TrySit() {
    return seat_.load(std::memory_order_relaxed) == kEmpty &&
           seat_.exchange(kTaken, std::memory_order_acquire) == kEmpty;
  }
  void GetUp() {
    seat_.store(kEmpty, std::memory_order_seq_cst);
    PassOn();
  }
  bool seat_taken() const { return seat_.load(std::memory_order_relaxed) == kTaken; }

  // By who has the seat, around its sleep on the source's descriptor. False: the ticket is done, or on its way.
  static bool BeginSleep(T& ticket) { return ticket.Mark(T::kOnDescriptor); }
  static void EndSleep(T& ticket) { ticket.Unmark(T::kOnDescriptor); }

 private:
  static constexpr uint32_t kEmpty = 0;
  static constexpr uint32_t kTaken = 1;

  void Sleep(T& ticket, const Deadline& deadline) {
    if (!ticket.Mark(T::kParked)) return;
    Lock();
    Link(ticket);
    Unlock();
    // Listed, then a look at the seat; GetUp: seat, then a look at the list. One of them sees the other.
    if (seat_.load(std::memory_order_seq_cst) == kTaken) {
      Policy::Park(ticket.state_, T::kWaiting | T::kParked, deadline);
    }
    Lock();
    if (ticket.listed_) Unlink(ticket);
    Unlock();
    ticket.Unmark(T::kParked);
  }

  // By a thread that needs the seat no more: it had the seat, or others may have left it to this thread. The seat is
  // left, then a look at the watchers; a watcher: it ceases to be one, then a look at the seat. One of them sees the
  // other. Where another thread has the seat by now, this duty is that thread's.
  void PassOn() {
    if (seat_.load(std::memory_order_seq_cst) == kEmpty && watchers_.load(std::memory_order_seq_cst) == 0) CallNext();
  }

  // Wakes one that sleeps, to take the seat. No system call under the lock: a thread that loses its processor there
  // would hold up all others.
  void CallNext() {
    while (sleepers_.load(std::memory_order_seq_cst) > 0) {
      const void* address = nullptr;
      Lock();
      T* const next = first_;
      if (next != nullptr) {
        Unlink(*next);
        // Otherwise it is being brought what it waits for.
        if (next->Unmark(T::kParked)) address = &next->state_;
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

  void Link(T& ticket) {
    ticket.before_ = nullptr;
    ticket.after_ = first_;
    if (first_ != nullptr) first_->before_ = &ticket;
    first_ = &ticket;
    ticket.listed_ = true;
    sleepers_.store(++listed_, std::memory_order_seq_cst);
  }
  void Unlink(T& ticket) {
    (ticket.before_ == nullptr ? first_ : ticket.before_->after_) = ticket.after_;
    if (ticket.after_ != nullptr) ticket.after_->before_ = ticket.before_;
    ticket.listed_ = false;
    sleepers_.store(--listed_, std::memory_order_seq_cst);
  }

  typename Policy::template Atomic<uint32_t> seat_{kEmpty};
  typename Policy::template Atomic<uint32_t> watchers_{0};  // awake, and about to look at the seat again
  typename Policy::template Atomic<uint32_t> sleepers_{0};  // in the list
  typename Policy::template Atomic<uint32_t> lock_{0};      // of the list, for a few instructions
  T* first_ = nullptr;
  uint32_t listed_ = 0;
};

}  // namespace skein::wait

#endif  // SKEIN_CORE_WAIT_WAITING_ROOM_H_
