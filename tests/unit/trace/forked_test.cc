// A child made by fork() while its parent traces.

#include <atomic>
#include <thread>
#include <vector>

#include "core/trace/counters.h"
#include "core/trace/tracer.h"
#include "gtest/gtest.h"
#include "tests/support/in_child.h"
#include "tests/unit/trace/samples.h"

namespace skein::trace {
namespace {

#ifdef __SANITIZE_THREAD__
constexpr bool kChildMayHaveThreads = false;
#else
constexpr bool kChildMayHaveThreads = true;
#endif

// GCC 12's AddressSanitizer does not hold its allocator's locks over fork(): a child whose parent's threads were within
// it waits for ever as soon as it frees. Then this thread alone is busy: the collector has nothing to do, either.
#ifdef __SANITIZE_ADDRESS__
constexpr int kBusyThreads = 0;
#else
constexpr int kBusyThreads = 2;
#endif

// The claims return 0, or which of them was wrong.
int BeginsEmpty() {
  if (Enabled()) return 1;
  if (ReadCounters().Value(Counter::kWakeUps) != 0) return 2;
  if (!Snapshot().empty()) return 3;
  if (Methods().Intern("again") != kOtherMethods + 1) return 4;
  return 0;
}

int TracesForItself() {
  SetSampling(1);
  Push(NumberedCall(1));
  SetSampling(0);
  const AggregateSnapshot snapshot = Snapshot();
  for (const Series& series : snapshot) {
    if (series.histogram.Count() != 1) return 5;  // what its parent had pushed is its parent's
  }
  return snapshot.empty() ? 6 : 0;
}

TEST(ForkedTest, AChildBeginsEmptyAndMayTraceForItself) {
  SetSampling(1);
  Count(Counter::kWakeUps);
  Methods().Intern("a method");
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;  // that hold locks now and then
  threads.reserve(kBusyThreads);
  for (int thread = 0; thread < kBusyThreads; ++thread) {
    threads.emplace_back([&stop] {
      while (!stop) {
        Push(NumberedCall(1));
        Methods().Intern("another method");
        Flush();
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    Push(NumberedCall(1));
    if (kBusyThreads == 0) Flush();
    EXPECT_EQ(InChild(BeginsEmpty), 0);
    EXPECT_TRUE(!kChildMayHaveThreads || InChild(TracesForItself) == 0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  SetSampling(0);
  EXPECT_FALSE(Snapshot().empty());
}

}  // namespace
}  // namespace skein::trace
