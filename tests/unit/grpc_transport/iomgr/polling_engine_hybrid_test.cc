// The engine in mode hybrid, with a budget so long that only what is shown here ends a spin.
#include <sched.h>

#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/wait/processors.h"
#include "tests/unit/grpc_transport/iomgr/pollset_test.h"

namespace skein::grpc_transport {
namespace {

using grpc_core::ExecCtx;
using grpc_core::Timestamp;

constexpr size_t kPerProcessor = 4;  // waiters that may spin

class PollingEngineHybridTest : public PollsetTest {
 protected:
  PollingEngineHybridTest() : PollsetTest({WaitMode::kHybrid, absl::Hours(1)}) {}

  // A thread that waits again and again, as gRPC's do, until the pollset is shut down.
  std::thread Waiter() {
    return std::thread([this] {
      while (!down_.HasBeenNotified()) Work(Timestamp::InfFuture());
    });
  }
  enum class OneMore { kSlept, kSpun, kOthersDidNotSpin };
  // What this thread does when it waits while so many wait that the processors can serve no more spinners. On a busy
  // machine the others rightly do not spin, and nothing is learnt.
  OneMore WaitWithTheOthers() {
    constexpr int kMostMs = 500;
    const size_t others = kPerProcessor * wait::Processors();
    source_->Forget();
    const absl::Time end = absl::Now() + absl::Milliseconds(kMostMs);
    std::vector<std::thread> waiters;
    for (size_t i = 0; i < others; ++i) {
      waiters.emplace_back([this] { WorkFor(kMostMs); });
      while (source_->pollers().size() <= i && absl::Now() < end) std::this_thread::yield();
    }
    OneMore result = OneMore::kOthersDidNotSpin;
    if (source_->pollers().size() == others) {
      WorkFor(20);
      const bool slept = !source_->pollers().contains(std::this_thread::get_id());
      if (absl::Now() < end) result = slept ? OneMore::kSlept : OneMore::kSpun;  // the others still wait
    }
    for (std::thread& waiter : waiters) waiter.join();
    return result;
  }
  void WorkFor(int ms) {
    ExecCtx exec_ctx;
    Work(Timestamp::Now() + grpc_core::Duration::Milliseconds(ms));
  }
  void EndAll(std::vector<std::thread>& waiters) {
    {
      ExecCtx exec_ctx;
      ShutDown();
    }
    for (std::thread& waiter : waiters) waiter.join();
  }
};

void PinToOneProcessor() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  ASSERT_EQ(sched_getaffinity(0, sizeof(mine), &mine), 0);
  int first = 0;
  while (!CPU_ISSET(first, &mine)) ++first;
  CPU_ZERO(&mine);
  CPU_SET(first, &mine);
  ASSERT_EQ(sched_setaffinity(0, sizeof(mine), &mine), 0);
}

TEST_F(PollingEngineHybridTest, OneMoreThanTheProcessorsCanServeSleepsAtOnce) {
  PinToOneProcessor();
  set_.SleepUnlessBusy();  // as if another thread looked at descriptors
  set_.Use(busy_);
  OneMore result = OneMore::kOthersDidNotSpin;
  for (int attempts = 0; attempts < 20 && result == OneMore::kOthersDidNotSpin; ++attempts)
    result = WaitWithTheOthers();
  set_.EndSleep();
  if (result == OneMore::kOthersDidNotSpin) GTEST_SKIP() << "others want the processors";
  EXPECT_EQ(result, OneMore::kSlept);
}

TEST_F(PollingEngineHybridTest, WhoseProcessorIsWantedSleeps) {
  set_.Use(busy_);
  std::vector<std::thread> waiters;
  std::thread computing([&] {
    PinToOneProcessor();
    waiters.push_back(Waiter());  // on the same processor
    while (!set_.anybody_sleeps()) {
    }
  });
  computing.join();
  EXPECT_TRUE(set_.anybody_sleeps());
  EndAll(waiters);
}

}  // namespace
}  // namespace skein::grpc_transport
