// Pollsets of the engine that spins, while something is busy: what ends a wait.
#include <thread>

#include "tests/unit/grpc_transport/iomgr/pollset_test.h"

namespace skein::grpc_transport {
namespace {

using grpc_core::ExecCtx;
using grpc_core::Timestamp;

// Nobody sleeps: a wait that ends has been ended.
class PollingEngineTest : public PollsetTest {
 protected:
  PollingEngineTest() : PollsetTest({WaitMode::kPoll, absl::ZeroDuration()}) {
    set_.SleepUnlessBusy();  // so that nobody looks at descriptors now and then, and returns
    set_.Use(busy_);
  }
  ~PollingEngineTest() override { set_.EndSleep(); }
};

TEST_F(PollingEngineTest, IsTheOneThatGrpcUses) {
  EXPECT_GT(grpc_pollset_size(), grpc_ev_epoll1_posix.pollset_size);
  EXPECT_TRUE(KnownPollingEngine());
}

TEST_F(PollingEngineTest, AKickEndsASpin) {
  std::thread waiter([this] { Work(Timestamp::InfFuture()); });
  source_->polled.WaitForNotification();
  Kick();
  waiter.join();
}

TEST_F(PollingEngineTest, AKickBeforeTheWaitIsKept) {
  Kick();
  Work(Timestamp::InfFuture());
}

TEST_F(PollingEngineTest, ATimeThatIsUpEndsIt) {
  Work(Timestamp::InfPast());
  ExecCtx exec_ctx;
  Work(Timestamp::Now() + grpc_core::Duration::Milliseconds(5));
}

TEST_F(PollingEngineTest, ShutDownItWaitsForWhoSpins) {
  std::thread waiter([this] { Work(Timestamp::InfFuture()); });
  source_->polled.WaitForNotification();
  {
    ExecCtx exec_ctx;
    ShutDown();
  }
  waiter.join();
  down_.WaitForNotification();
}

TEST_F(PollingEngineTest, ShutDownBeforeTheWaitEndsIt) {
  {
    ExecCtx exec_ctx;
    ShutDown();
  }
  Work(Timestamp::InfFuture());
}

TEST_F(PollingEngineTest, ReturnsNowAndThenWhileNobodyLooksAtDescriptors) {
  set_.EndSleep();
  Work(Timestamp::InfFuture());  // looks
  Work(Timestamp::InfFuture());  // spins until it is time to look again
  EXPECT_TRUE(source_->polled.HasBeenNotified());
  set_.Remove(*busy_);
  set_.SleepUnlessBusy();
}

TEST_F(PollingEngineTest, WithNothingBusyThereIsEpoll1) {
  set_.Remove(*busy_);
  set_.EndSleep();
  std::thread waiter([this] { Work(Timestamp::InfFuture()); });
  while (!set_.anybody_sleeps()) std::this_thread::yield();
  Kick();
  waiter.join();
  set_.SleepUnlessBusy();
  EXPECT_FALSE(source_->polled.HasBeenNotified());
  Kick();
  Work(Timestamp::InfFuture());
}

}  // namespace
}  // namespace skein::grpc_transport
