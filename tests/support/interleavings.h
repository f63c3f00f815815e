// Runs a small program of a few threads in every order its atomic operations can take, one after the other, on one
// real thread. Each operation on an Atomic is a point where another thread may go on. Between orders that differ only
// in operations that do not touch the same atomic, one is run (sleep sets).
//
// It also plays the memory orders of C++ in which reads are late: a load may return any value that has not been
// superseded for its thread by what happens before it. Happens-before is tracked by vector clocks, and found broken
// when two threads touch a Plain without it, when an atomic is touched before its construction or after its end, or
// when its end does not come after every touch. Once per run a sleeper may wake for nothing. Not covered: reads of
// values not yet written (load buffering), fences, compare_exchange_weak.
#ifndef SKEIN_TESTS_SUPPORT_INTERLEAVINGS_H_
#define SKEIN_TESTS_SUPPORT_INTERLEAVINGS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace skein::interleavings {

constexpr int kMaxThreads = 5;  // the first is the one that makes and checks the program
using Clock = std::array<uint32_t, kMaxThreads>;

// Where in the source an operation stands.
struct Where {
  const char* file;
  uint32_t line;
  const char* function = "";
  static constexpr Where Current(const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE(),
                                 const char* function = __builtin_FUNCTION()) {
    return {file, line, function};
  }
};

// Made anew for each run. Threads may be left in the middle: what they own on the stack must not need its destructor.
struct Program {
  std::vector<std::function<void()>> threads;
  std::function<void()> finally = [] {};  // after all have ended
};

// The operations on a line of the source, with a weaker order than is written there.
struct Weakening {
  uint32_t line = 0;
  std::memory_order order = std::memory_order_seq_cst;
  std::string file = {};  // of the source
  std::string function = {};
  bool operator==(const Weakening&) const = default;
};

struct Options {
  std::optional<int> preemptions =
      {};  // of a thread that could go on, per run; without: all, and the search is complete
  bool late_reads = true;
  std::optional<Weakening> weakening = {};
};

struct Result {
  uint64_t schedules = 0;             // run to the end
  uint64_t cut_short = 0;             // found to be the same as another
  std::string failure;                // empty: none. Otherwise what, and the schedule that leads there
  std::vector<Weakening> weakenings;  // of each line met, the next weaker orders
};

Result Explore(const std::function<Program()>& make, const Options& options = {});

// Called by a program's threads: a failure ends the search.
void Check(bool holds, const char* what);

namespace internal {
void Begin(const void* atom, uint64_t value);
void End(const void* atom);
uint64_t Load(const void* atom, std::memory_order order, const Where& where);
void Store(const void* atom, uint64_t value, std::memory_order order, const Where& where);
// Gives the value of before.
uint64_t Change(const void* atom, const std::function<uint64_t(uint64_t)>& change, absl::string_view operation,
                std::memory_order order, const Where& where);
bool CompareExchange(const void* atom, uint64_t& expected, uint64_t desired, std::memory_order order,
                     std::optional<std::memory_order> failure, const Where& where);
uint64_t Await(const void* atom, uint64_t old, std::memory_order order, const Where& where);
void Park(const void* atom, uint64_t value, const Where& where);
void Unpark(const void* address, const Where& where);
const Clock& Now(int& thread);

template <class T>
uint64_t ToWord(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<uintptr_t>(value);
  } else {
    return static_cast<uint64_t>(value);
  }
}
template <class T>
T FromWord(uint64_t word) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(word);
  } else {
    return static_cast<T>(word);
  }
}
}  // namespace internal

// std::atomic, as far as needed.
template <class T>
class Atomic {
 public:
  Atomic(T value) { internal::Begin(this, internal::ToWord(value)); }  // NOLINT(google-explicit-constructor)
  ~Atomic() { internal::End(this); }
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(std::memory_order order, Where where = Where::Current()) const {
    return internal::FromWord<T>(internal::Load(this, order, where));
  }
  void store(T value, std::memory_order order, Where where = Where::Current()) {
    internal::Store(this, internal::ToWord(value), order, where);
  }
  T exchange(T value, std::memory_order order, Where where = Where::Current()) {
    return Change([word = internal::ToWord(value)](uint64_t) { return word; }, "exchange, old value", order, where);
  }
  T fetch_or(T bits, std::memory_order order, Where where = Where::Current()) {
    return Change([word = internal::ToWord(bits)](uint64_t old) { return old | word; }, "fetch_or, old value", order,
                  where);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order order, Where where = Where::Current()) {
    return CompareExchange(expected, desired, order, std::nullopt, where);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure,
                               Where where = Where::Current()) {
    return CompareExchange(expected, desired, success, failure, where);
  }
  // Of unsigned numbers.
  T fetch_add(T more, std::memory_order order, Where where = Where::Current()) {
    return Change([word = internal::ToWord(more)](uint64_t old) { return old + word; }, "fetch_add, old value", order,
                  where);
  }
  T fetch_sub(T less, std::memory_order order, Where where = Where::Current()) {
    return Change([word = internal::ToWord(less)](uint64_t old) { return old - word; }, "fetch_sub, old value", order,
                  where);
  }

 private:
  T Change(const std::function<uint64_t(uint64_t)>& change, absl::string_view operation, std::memory_order order,
           const Where& where) {
    return internal::FromWord<T>(internal::Change(this, change, operation, order, where));
  }
  bool CompareExchange(T& expected, T desired, std::memory_order order, std::optional<std::memory_order> failure,
                       const Where& where) {
    uint64_t word = internal::ToWord(expected);
    const bool done = internal::CompareExchange(this, word, internal::ToWord(desired), order, failure, where);
    expected = internal::FromWord<T>(word);
    return done;
  }

  [[maybe_unused]] char place_ = 0;
};

// Ordinary data, whose races are found.
template <class T>
class Plain {
 public:
  Plain(T value = T()) : value_(std::move(value)) { Write(); }  // NOLINT(google-explicit-constructor)
  T Get() const {
    int self = 0;
    const Clock& now = internal::Now(self);
    Check(written_at_ <= now[written_by_], "a read races with a write");
    read_at_[self] = now[self];
    return value_;
  }
  void Set(T value) {
    int self = 0;
    const Clock& now = internal::Now(self);
    Check(written_at_ <= now[written_by_], "a write races with a write");
    for (int thread = 0; thread < kMaxThreads; ++thread) {
      Check(read_at_[thread] <= now[thread], "a write races with a read");
    }
    value_ = std::move(value);
    Write();
  }

 private:
  void Write() {
    const Clock& now = internal::Now(written_by_);
    written_at_ = now[written_by_];
  }

  T value_;
  int written_by_ = 0;
  uint32_t written_at_ = 0;
  mutable Clock read_at_{};
};

// The policy of core/coalesce.
struct Atomics {
  template <class T>
  using Atomic = interleavings::Atomic<T>;

  template <class T>
  static T Await(const Atomic<T>& atom, T old, std::memory_order order, Where where = Where::Current()) {
    return internal::FromWord<T>(internal::Await(&atom, internal::ToWord(old), order, where));
  }
  // Time is up at once: a longer wait is the same as being scheduled later.
  template <class T>
  static T Spin(const Atomic<T>& atom, T, std::memory_order order, Where where = Where::Current()) {
    return atom.load(order, where);
  }
  static void Park(const Atomic<uint32_t>& word, uint32_t value, Where where = Where::Current()) {
    internal::Park(&word, value, where);
  }
  static void Unpark(const void* address, Where where = Where::Current()) { internal::Unpark(address, where); }
};

// What a sleeper sleeps on. It stays rung until somebody has woken by it. As the kernel's it orders what came before
// the ring. `own`: of the test's own operations, which are not weakened.
class Wakeup {
 public:
  explicit Wakeup(Where own) : own_(own) {}
  void Ring() {
    rung_.store(1, std::memory_order_seq_cst, own_);
    Atomics::Unpark(&rung_, own_);
  }
  void Sleep() {
    while (rung_.exchange(0, std::memory_order_seq_cst, own_) == 0) Atomics::Park(rung_, 0, own_);
  }

 private:
  const Where own_;
  Atomic<uint32_t> rung_{0};
};

}  // namespace skein::interleavings

#endif  // SKEIN_TESTS_SUPPORT_INTERLEAVINGS_H_
