// The words by which the two ends hand over, each in the one order in which no wake-up is lost.
//
// Two pairs of Dekker's: each side stores its own word, passes a full fence, and loads the other's. So of two that
// cross, at least one sees the other.
//
//   message:  writer  published := n;        fence; sleeps?       rings if it finds the flag
//             poller  sleeps := 1;           fence; published?    does not sleep if something is there
//   space:     sender  wakes_at := n + 1;     fence; consumed?     takes the space if it has come
//             reader  consumed := n;         fence; wakes_at?     rings if n is reached and the flag is up
//             poller  sleeps := 1;           fence; wakes_at and consumed?   does not sleep if n is reached
//
// In the second there are three: the sender that lacks space and its poller may be two threads. Fences have one order.
// If the reader's comes last, it finds both words and rings. If the poller's does, the poller finds n reached. If the
// sender's does, the sender does.
//
// The end that rings takes the flag down by an exchange: of several, one rings. The poller takes it down itself when it
// goes on polling. One flag serves both, for whoever is woken looks at everything.
//
// Templates, so that the tests run these very functions in every order (tests/unit/channel_shm/handover_test.cc).
#ifndef SKEIN_CORE_CHANNEL_SHM_HANDOVER_H_
#define SKEIN_CORE_CHANNEL_SHM_HANDOVER_H_

#include <atomic>
#include <cstdint>

#include "core/base/fence.h"

namespace skein::channel::shm {

struct SystemWords {
  template <class T>
  using Atomic = std::atomic<T>;
  static void Fence() { FullFence(); }
};

template <class Words = SystemWords>
struct Handover {
  using Position = typename Words::template Atomic<uint64_t>;
  using Flag = typename Words::template Atomic<uint32_t>;

  // The writer: everything up to `position` is there. True: the caller rings.
  static bool Publish(Position& published, uint64_t position, Flag& reader_sleeps) {
    published.store(position, std::memory_order_release);
    Words::Fence();
    return TakeDown(reader_sleeps);
  }
  // The reader: how far it may read.
  static uint64_t Published(const Position& published) { return published.load(std::memory_order_acquire); }

  // The reader: what lies before `position` may be overwritten.
  static void Consume(Position& consumed, uint64_t position) { consumed.store(position, std::memory_order_release); }
  // The reader, after a number of these. True: the caller rings.
  static bool Consumed(uint64_t position, const Position& wakes_at, Flag& writer_sleeps) {
    Words::Fence();
    const uint64_t wanted = wakes_at.load(std::memory_order_relaxed);
    return wanted != 0 && wanted - 1 <= position && TakeDown(writer_sleeps);
  }
  // The writer: up to where the peer has consumed.
  static uint64_t ConsumedByPeer(const Position& consumed) { return consumed.load(std::memory_order_acquire); }

  // The sender, which lacks space until the peer has consumed up to `position`. It looks at `consumed` again
  // afterwards.
  static void WakeAt(Position& wakes_at, uint64_t position) {
    wakes_at.store(position + 1, std::memory_order_relaxed);
    Words::Fence();
  }
  static void NeedNotWake(Position& wakes_at) { wakes_at.store(0, std::memory_order_relaxed); }
  // The writer's poller, or the sender: whether that has come.
  static bool Reached(const Position& wakes_at, const Position& consumed) {
    const uint64_t wanted = wakes_at.load(std::memory_order_relaxed);
    return wanted != 0 && consumed.load(std::memory_order_relaxed) >= wanted - 1;
  }

  // The poller, which looks once more at everything afterwards, and then sleeps.
  static void GoToSleep(Flag& sleeps) {
    sleeps.store(1, std::memory_order_relaxed);
    Words::Fence();
  }
  // The poller goes on. False: the peer has rung, or is about to.
  static bool StayAwake(Flag& sleeps) { return TakeDown(sleeps); }

 private:
  static bool TakeDown(Flag& sleeps) {
    return sleeps.load(std::memory_order_relaxed) != 0 && sleeps.exchange(0, std::memory_order_relaxed) != 0;
  }
};

}  // namespace skein::channel::shm

#endif  // SKEIN_CORE_CHANNEL_SHM_HANDOVER_H_
