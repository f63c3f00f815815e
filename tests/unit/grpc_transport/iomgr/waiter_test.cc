// Links that are watched while there is a user, whoever that is.
#include "grpc_transport/iomgr/waiter.h"

#include <sys/eventfd.h>

#include <memory>
#include <optional>

#include "core/base/unique_fd.h"
#include "gtest/gtest.h"

namespace skein::grpc_transport {
namespace {

// Has nothing, and is not done.
class IdleLink final : public wait::Source {
 public:
  bool Poll() override { return false; }
  bool Arm() override { return true; }
  int fd() const override { return fd_.get(); }
  bool finished() const override { return finished_; }
  bool Retire() override { return finished_ = true; }

 private:
  const UniqueFd fd_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  bool finished_ = false;
};

class WaiterTest : public testing::Test {
 protected:
  WaiterTest() { grpc_init(); }
  ~WaiterTest() override { grpc_shutdown_blocking(); }

  static void Flush() { grpc_core::ExecCtx::Get()->Flush(); }

  Waiter waiter_{wait::SpinPolicy{}};
  const std::shared_ptr<IdleLink> link_ = std::make_shared<IdleLink>();
};

TEST_F(WaiterTest, ALinkThatNobodyUsesGivesItsDescriptorBackAndEnds) {
  const grpc_core::ExecCtx exec_ctx;
  std::optional<Waiter::User> user(&waiter_);
  waiter_.Watch(link_);
  Flush();
  EXPECT_NE(user->BusyOf(*link_), nullptr);
  user.reset();
  Flush();
  EXPECT_TRUE(link_->finished());
  user.emplace(&waiter_);
  EXPECT_EQ(user->BusyOf(*link_), nullptr);
}

// The next user comes before the link has given its descriptor back.
TEST_F(WaiterTest, ALinkThatWasBeingStoppedIsBusyAgainForItsNextUser) {
  const grpc_core::ExecCtx exec_ctx;
  std::optional<Waiter::User> first(&waiter_);
  waiter_.Watch(link_);
  Flush();
  first.reset();
  Waiter::User second(&waiter_);
  const std::shared_ptr<wait::Busy> busy = second.BusyOf(*link_);
  ASSERT_NE(busy, nullptr);
  Flush();
  EXPECT_FALSE(link_->finished());
  EXPECT_EQ(second.BusyOf(*link_), busy);
  second.busy_set().Use(busy);
  EXPECT_FALSE(waiter_.busy_set().empty()) << "its calls would never be spun for";
}

TEST_F(WaiterTest, ItIsStoppedAllTheSameWhenThatUserGoes) {
  const grpc_core::ExecCtx exec_ctx;
  std::optional<Waiter::User> user(&waiter_);
  waiter_.Watch(link_);
  Flush();
  user.reset();
  user.emplace(&waiter_);
  user.reset();
  Flush();
  EXPECT_TRUE(link_->finished());
}

}  // namespace
}  // namespace skein::grpc_transport
