// Pollsets of the engine that spins, while something is busy: what ends a wait.
#include "grpc_transport/polling_engine.h"

#include <memory>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "grpc_transport/grpc_internal.h"
#include "gtest/gtest.h"

namespace skein::grpc_transport {
namespace {

using grpc_core::ExecCtx;
using grpc_core::Timestamp;

// Never has anything; says when it is first polled.
class QuietSource final : public progress::Source {
 public:
  bool Poll() override {
    if (!std::exchange(told_, true)) polled.Notify();
    return false;
  }
  bool Arm() override { return true; }
  int fd() const override { return -1; }
  bool finished() const override { return false; }
  bool Retire() override { return false; }
  absl::Notification polled;

 private:
  bool told_ = false;  // by one thread
};

class QuietBusy final : public Busy {
 public:
  using Busy::Busy;
  void Again() override {}
};

// Of the process, as gRPC's engine is. Nobody sleeps: a wait that ends has been ended.
BusySet& Set() {
  static auto* const set = [] {
    auto* const made = new BusySet(/*enabled=*/true);
    RegisterPollingEngine(made, {WaitMode::kPoll, absl::ZeroDuration(), 64});
    return made;
  }();
  return *set;
}

class PollingEngineTest : public ::testing::Test {
 protected:
  PollingEngineTest() {
    Set();
    grpc_init();
    pollset_ = static_cast<grpc_pollset*>(gpr_zalloc(grpc_pollset_size()));
    grpc_pollset_init(pollset_, &mu_);
    Set().SleepUnlessBusy();  // so that nobody looks at descriptors now and then, and returns
    Set().Use(busy_);
  }
  ~PollingEngineTest() override {
    Set().Remove(*busy_);
    Set().EndSleep();
    {
      ExecCtx exec_ctx;
      if (!shut_down_) ShutDown();
      exec_ctx.Flush();
      grpc_pollset_destroy(pollset_);
    }
    gpr_free(pollset_);
    grpc_shutdown();
  }

  void ShutDown() {
    gpr_mu_lock(mu_);
    shut_down_ = true;
    grpc_pollset_shutdown(pollset_, grpc_core::NewClosure([this](grpc_error_handle) { down_.Notify(); }));
    gpr_mu_unlock(mu_);
  }
  void Work(Timestamp deadline) {
    ExecCtx exec_ctx;
    gpr_mu_lock(mu_);
    grpc_pollset_worker* worker = nullptr;
    EXPECT_TRUE(grpc_pollset_work(pollset_, &worker, deadline).ok());
    EXPECT_EQ(worker, nullptr);
    gpr_mu_unlock(mu_);
  }
  void Kick() {
    ExecCtx exec_ctx;
    gpr_mu_lock(mu_);
    EXPECT_TRUE(grpc_pollset_kick(pollset_, nullptr).ok());
    gpr_mu_unlock(mu_);
  }

  grpc_pollset* pollset_ = nullptr;
  gpr_mu* mu_ = nullptr;
  bool shut_down_ = false;
  absl::Notification down_;
  const std::shared_ptr<QuietSource> source_ = std::make_shared<QuietSource>();
  const std::shared_ptr<QuietBusy> busy_ = std::make_shared<QuietBusy>(source_);
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
  Set().EndSleep();
  Work(Timestamp::InfFuture());  // looks
  Work(Timestamp::InfFuture());  // spins until it is time to look again
  EXPECT_TRUE(source_->polled.HasBeenNotified());
  Set().Remove(*busy_);
  Set().SleepUnlessBusy();
}

TEST_F(PollingEngineTest, WithNothingBusyThereIsEpoll1) {
  Set().Remove(*busy_);
  Set().EndSleep();
  std::thread waiter([this] { Work(Timestamp::InfFuture()); });
  while (!Set().anybody_sleeps()) std::this_thread::yield();
  Kick();
  waiter.join();
  Set().SleepUnlessBusy();
  EXPECT_FALSE(source_->polled.HasBeenNotified());
  Kick();
  Work(Timestamp::InfFuture());
}

}  // namespace
}  // namespace skein::grpc_transport
