// One pollset of the engine that spins, and one quiet source to be busy.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_POLLSET_TEST_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_POLLSET_TEST_H_

#include <memory>
#include <set>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/notification.h"
#include "core/base/mutex.h"
#include "core/wait/busy_set.h"
#include "grpc_transport/iomgr/grpc_internal.h"
#include "grpc_transport/iomgr/polling_engine.h"
#include "gtest/gtest.h"

namespace skein::grpc_transport {

// Never has anything; knows who has polled it. Any thread.
class QuietSource final : public wait::Source {
 public:
  bool Poll() override {
    MutexLock lock(&mu_);
    pollers_.insert(std::this_thread::get_id());
    if (!polled.HasBeenNotified()) polled.Notify();
    return false;
  }
  bool Arm() override { return true; }
  int fd() const override { return -1; }
  bool finished() const override { return false; }
  bool Retire() override { return false; }

  std::set<std::thread::id> pollers() const {
    MutexLock lock(&mu_);
    return pollers_;
  }
  void Forget() {
    MutexLock lock(&mu_);
    pollers_.clear();
  }
  absl::Notification polled;  // for the first time

 private:
  mutable Mutex mu_;
  std::set<std::thread::id> pollers_ ABSL_GUARDED_BY(mu_);
};

class QuietBusy final : public wait::Busy {
 public:
  using wait::Busy::Busy;
  void Again() override {}
};

// The engine is the process's, as gRPC has only one: the first policy counts.
inline wait::BusySet& SetOf(const wait::SpinPolicy& policy) {
  static auto* const set = [&] {
    auto* const made = new wait::BusySet(/*enabled=*/true);
    RegisterPollingEngine(made, policy);
    return made;
  }();
  return *set;
}

class PollsetTest : public ::testing::Test {
 protected:
  explicit PollsetTest(const wait::SpinPolicy& policy) : set_(SetOf(policy)) {
    grpc_init();
    pollset_ = static_cast<grpc_pollset*>(gpr_zalloc(grpc_pollset_size()));
    grpc_pollset_init(pollset_, &mu_);
  }
  ~PollsetTest() override {
    set_.Remove(*busy_);
    {
      grpc_core::ExecCtx exec_ctx;
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
  void Work(grpc_core::Timestamp deadline) {
    grpc_core::ExecCtx exec_ctx;
    gpr_mu_lock(mu_);
    grpc_pollset_worker* worker = nullptr;
    EXPECT_TRUE(grpc_pollset_work(pollset_, &worker, deadline).ok());
    EXPECT_EQ(worker, nullptr);
    gpr_mu_unlock(mu_);
  }
  void Kick() {
    grpc_core::ExecCtx exec_ctx;
    gpr_mu_lock(mu_);
    EXPECT_TRUE(grpc_pollset_kick(pollset_, nullptr).ok());
    gpr_mu_unlock(mu_);
  }

  wait::BusySet& set_;
  grpc_pollset* pollset_ = nullptr;
  gpr_mu* mu_ = nullptr;
  bool shut_down_ = false;
  absl::Notification down_;
  const std::shared_ptr<QuietSource> source_ = std::make_shared<QuietSource>();
  const std::shared_ptr<QuietBusy> busy_ = std::make_shared<QuietBusy>(source_);
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_POLLSET_TEST_H_
