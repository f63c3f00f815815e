// The atomic operations, and the waits for another thread's next instructions, that hand-overs between threads are
// written on. A policy, so that a test can run the very same code on atomics of its own, one interleaving after the
// other.
#ifndef SKEIN_CORE_WAIT_ATOMICS_H_
#define SKEIN_CORE_WAIT_ATOMICS_H_

#include <atomic>
#include <cstdint>

namespace skein::wait {

struct SystemAtomics {
  template <class T>
  using Atomic = std::atomic<T>;

  // Waits until `atom` is not `old`, which another thread is a few instructions away from. Returns what it is.
  template <class T>
  static T Await(const std::atomic<T>& atom, T old, std::memory_order order) {
    for (;;) {
      const T value = Spin(atom, old, order);
      if (value != old) return value;
    }
  }

  // The same for a bounded time. Returns `old` when that has passed.
  template <class T>
  static T Spin(const std::atomic<T>& atom, T old, std::memory_order order) {
    T value = atom.load(order);
    for (int round = 0; value == old && Pause(round); ++round) value = atom.load(order);
    return value;
  }

  // Sleeps if `word` is `value`, until an Unpark of its address; or not so long: look again after it.
  static void Park(const std::atomic<uint32_t>& word, uint32_t value);
  // Wakes a thread that has parked at `address`. Memory there is not touched, and may be gone or serve another purpose:
  // at worst another thread, which sleeps at the same address by now, looks again.
  static void Unpark(const void* address);

 private:
  // Lets a moment pass, in later rounds by giving up the processor. False after the last round.
  static bool Pause(int round);
};

}  // namespace skein::wait

#endif  // SKEIN_CORE_WAIT_ATOMICS_H_
