#include "core/channel/shm/wakeup_pipe.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/empty_pipe.h"
#include "gtest/gtest.h"

namespace skein::channel::shm {
namespace {

bool Readable(const UniqueFd& fd) {
  pollfd waiting = {fd.get(), POLLIN, 0};
  return poll(&waiting, 1, 0) == 1;
}

bool Waits(const UniqueFd& fd) { return (fcntl(fd.get(), F_GETFL) & O_NONBLOCK) == 0; }

// Both ends' descriptors of one wakeup pipe.
class WakeupPipeTest : public testing::Test {
 protected:
  void SetUp() override {
    own_ = CreateWakeupPipe().value();
    passed_ = OpenWakeupPipe(own_.get()).value();
    peers_ = OpenWakeupPipe(passed_.get()).value();
  }

  UniqueFd own_;
  UniqueFd peers_;
  UniqueFd passed_;
};

TEST_F(WakeupPipeTest, IsReadableFromRingToClear) {
  EXPECT_FALSE(Readable(own_));
  EXPECT_FALSE(EmptyPipe(own_.get()));
  WriteWakeup(peers_.get());
  WriteWakeup(peers_.get());
  EXPECT_TRUE(Readable(own_));
  EXPECT_TRUE(EmptyPipe(own_.get()));
  EXPECT_FALSE(Readable(own_));
}

TEST_F(WakeupPipeTest, AFullOneDoesNotHoldWhoRings) {
  const int capacity = fcntl(own_.get(), F_GETPIPE_SZ);
  ASSERT_GT(capacity, 0);
  for (int i = 0; i < capacity + 1000; ++i) WriteWakeup(peers_.get());
  EXPECT_TRUE(EmptyPipe(own_.get()));
  EXPECT_FALSE(Readable(own_)) << "a whole pipe at once";
}

// A peer has the descriptor that was passed, and those that it opens by itself.
TEST_F(WakeupPipeTest, NoPeerCanMakeTheOtherEndWait) {
  for (const UniqueFd* of_the_peer : {&passed_, &peers_}) {
    ASSERT_EQ(fcntl(of_the_peer->get(), F_SETFL, 0), 0);
    EXPECT_TRUE(Waits(*of_the_peer));
    EXPECT_FALSE(Waits(own_));
  }
  EXPECT_FALSE(EmptyPipe(own_.get()));
}

TEST_F(WakeupPipeTest, WhoRingsOneThatIsGoneIsNotKilled) {
  own_.Reset();
  passed_.Reset();
  WriteWakeup(peers_.get());  // no SIGPIPE
  EXPECT_TRUE(Readable(peers_));
}

TEST_F(WakeupPipeTest, WithoutAPeerItDoesNotHangUp) {
  peers_.Reset();
  passed_.Reset();
  EXPECT_FALSE(Readable(own_));
}

TEST(OpenWakeupPipeTest, TakesPipesAlone) {
  const UniqueFd file(open("/dev/null", O_RDWR | O_CLOEXEC));
  const UniqueFd memory(memfd_create("pipe:[1]", MFD_CLOEXEC));
  for (const UniqueFd* other : {&file, &memory}) {
    EXPECT_EQ(OpenWakeupPipe(other->get()).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_FALSE(OpenWakeupPipe(-1).ok());
}

}  // namespace
}  // namespace skein::channel::shm
