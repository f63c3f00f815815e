#include "core/trace/tracer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/trace/counters.h"
#include "core/trace/record_ring.h"
#include "core/trace/ring_registry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/trace/samples.h"

namespace skein::trace {
namespace {

// The tracer is the process's: each test begins and ends with it off and empty.
class TracerTest : public testing::Test {
 protected:
  TracerTest() { Reset(); }
  ~TracerTest() override { Reset(); }

  static void Reset() {
    SetSampling(1);  // whatever is still on its way is delivered
    SetSampling(0);
    SetCallback(nullptr);
    ClearAggregate();
    ClearCounters();
  }
  static uint64_t CallsSeen() {
    uint64_t calls = 0;
    for (const Series& series : Snapshot()) calls += series.key.whole ? series.histogram.Count() : 0;
    return calls;
  }
};

TEST_F(TracerTest, IsOffUntilItIsSwitchedOn) {
  EXPECT_FALSE(Enabled());
  EXPECT_FALSE(Sampled());
  SetSampling(1);
  EXPECT_TRUE(Enabled());
  EXPECT_TRUE(Sampled());
  SetSampling(0);
  EXPECT_FALSE(Enabled());
  EXPECT_FALSE(Sampled());
}

TEST_F(TracerTest, NowIsTheMonotonicClock) {
  const uint64_t before = Now();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GE(Now(), before + 1'000'000);
}

TEST_F(TracerTest, OneOfSoManyIsSampledOnEachThread) {
  constexpr uint32_t kEvery = 10;
  constexpr int kCalls = 20'000;
  SetSampling(kEvery);
  for (int thread = 0; thread < 3; ++thread) {
    std::thread([] {
      int sampled = 0;
      int distance = 0;
      for (int i = 0; i < kCalls; ++i) {
        ++distance;
        if (!Sampled()) continue;
        EXPECT_LT(distance, 2 * static_cast<int>(kEvery));
        distance = 0;
        ++sampled;
      }
      EXPECT_NEAR(sampled, 2000, 400);
    }).join();
  }
}

TEST_F(TracerTest, CallsThatAlternateAreBothSampled) {
  SetSampling(2);
  int of_each[2] = {0, 0};
  for (int i = 0; i < 1000; ++i) of_each[i % 2] += Sampled() ? 1 : 0;
  EXPECT_GT(of_each[0], 100);
  EXPECT_GT(of_each[1], 100);
}

TEST_F(TracerTest, AfterOneOfMillionsAllAreSampledAtOnce) {
  std::thread([] {
    SetSampling(UINT32_MAX);
    for (int i = 0; i < 10; ++i) EXPECT_FALSE(Sampled());
    SetSampling(2);
    EXPECT_TRUE(Sampled() || Sampled() || Sampled());
  }).join();
}

TEST_F(TracerTest, WhatWasPushedHasBeenDeliveredWhenItIsOff) {
  SetSampling(1);
  for (uint64_t id = 1; id <= 5; ++id) Push(NumberedCall(id));
  SetSampling(0);
  EXPECT_EQ(CallsSeen(), 5);
}

TEST_F(TracerTest, WhatIsPushedLaterIsDeliveredWhenItIsOnAgain) {
  Push(NumberedCall(1));
  EXPECT_EQ(CallsSeen(), 0);
  SetSampling(1);
  Flush();
  EXPECT_EQ(CallsSeen(), 1);
}

TEST_F(TracerTest, RecordsAreDeliveredWithoutBeingAskedFor) {
  SetSampling(1);
  Push(NumberedCall(1));
  while (CallsSeen() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

TEST_F(TracerTest, EachRecordOfManyThreadsIsDeliveredOnceInOrderOrCountedAsDropped) {
  constexpr uint64_t kThreads = 8;
  constexpr uint64_t kRecords = 3000;  // thrice a ring
  std::vector<std::vector<uint64_t>> seen(kThreads);
  SetCallback([&seen](const Record& record) { seen[record.stream].push_back(record.id); });
  SetSampling(1);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([thread] {
      Record record = NumberedCall(0);
      record.stream = thread;
      for (record.id = 0; record.id < kRecords; ++record.id) Push(record);
    });
    if (thread % 2 == 1) threads[thread - 1].join();  // its ring is another's now
  }
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
  SetSampling(0);
  SetCallback(nullptr);
  uint64_t delivered = 0;
  for (const std::vector<uint64_t>& ids : seen) {
    delivered += ids.size();
    EXPECT_TRUE(std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) == ids.end());
  }
  EXPECT_EQ(delivered + dropped(), kThreads * kRecords);
  EXPECT_EQ(delivered, CallsSeen());
}

TEST_F(TracerTest, SwitchedOnAndOffMeanwhileNothingIsLostEither) {
  uint64_t seen = 0;
  SetCallback([&seen](const Record&) { ++seen; });
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> pushed = 0;
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      while (!stop) {
        if (!Sampled()) continue;
        Push(NumberedCall(1));
        ++pushed;
        std::this_thread::yield();
      }
    });
  }
  std::thread other([&] {
    for (int i = 0; i < 50; ++i) SetSampling(i % 3);
  });
  for (int i = 0; i < 50; ++i) SetSampling(i % 2);
  other.join();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  SetSampling(1);
  SetSampling(0);
  SetCallback(nullptr);
  EXPECT_EQ(seen + dropped(), pushed);
}

TEST_F(TracerTest, AFullRingDropsAndCounts) {
  std::thread([] {
    for (size_t i = 0; i < RecordRing::kCapacity + 10; ++i) Push(NumberedCall(i));
  }).join();
  EXPECT_GE(dropped(), 10);
  const uint64_t lost = dropped();
  SetSampling(1);
  SetSampling(0);
  EXPECT_EQ(CallsSeen() + lost, RecordRing::kCapacity + 10);
}

TEST_F(TracerTest, MoreThreadsThanThereAreRingsDropAndCount) {
  constexpr size_t kThreads = RingRegistry::kMostRings + 5;
  std::atomic<size_t> pushed = 0;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&pushed] {
      Push(NumberedCall(1));
      ++pushed;
      while (pushed != kThreads) std::this_thread::yield();  // each has its ring until all have pushed
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(dropped(), 5);
  const uint64_t lost = dropped();
  SetSampling(1);
  SetSampling(0);
  EXPECT_EQ(CallsSeen() + lost, kThreads);
}

// What a thread's last destructors push: after its ring has gone.
struct PushesAtTheEnd {
  ~PushesAtTheEnd() { Push(NumberedCall(7)); }
};

TEST_F(TracerTest, AThreadMayPushUntilItsEnd) {
  SetSampling(1);
  std::thread([] {
    static thread_local PushesAtTheEnd last;
    (void)&last;
    Push(NumberedCall(1));
  }).join();
  SetSampling(0);
  EXPECT_EQ(CallsSeen() + dropped(), 2);
}

TEST_F(TracerTest, TheFormerCallbackIsOverWhenAnotherIsSet) {
  SetSampling(1);
  for (int round = 0; round < 100; ++round) {
    auto alive = std::make_unique<uint64_t>(0);
    SetCallback([state = alive.get()](const Record& record) { *state += record.id; });
    Push(NumberedCall(1));
    if (round % 2 == 0) Flush();
    SetCallback(nullptr);
  }
}

TEST_F(TracerTest, ACallbackMaySwitchOffAndReplaceItself) {
  std::atomic<int> calls = 0;
  SetCallback([&calls](const Record&) {
    ++calls;
    Flush();
    SetCallback(nullptr);
    SetSampling(0);
  });
  SetSampling(1);
  Push(NumberedCall(1));
  while (Enabled()) std::this_thread::yield();
  SetSampling(0);
  EXPECT_EQ(calls, 1);
}

TEST_F(TracerTest, WhatACallbackThrowsIsIgnored) {
  SetCallback([](const Record&) { throw std::runtime_error("a user's"); });
  SetSampling(1);
  for (uint64_t id = 1; id <= 3; ++id) Push(NumberedCall(id));
  SetSampling(0);
  EXPECT_EQ(CallsSeen(), 3);
}

}  // namespace
}  // namespace skein::trace
