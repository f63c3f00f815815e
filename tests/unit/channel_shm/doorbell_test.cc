#include "core/channel/shm/doorbell.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace skein::channel::shm {
namespace {

bool Readable(const UniqueFd& fd) {
  pollfd waiting = {fd.get(), POLLIN, 0};
  return poll(&waiting, 1, 0) == 1;
}

bool Waits(const UniqueFd& fd) { return (fcntl(fd.get(), F_GETFL) & O_NONBLOCK) == 0; }

// Both ends' descriptors of one doorbell.
class DoorbellTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<NewDoorbell> doorbell = CreateDoorbell();
    ASSERT_TRUE(doorbell.ok()) << doorbell.status();
    own_ = std::move(doorbell->own);
    absl::StatusOr<UniqueFd> peers = OpenDoorbell(doorbell->to_pass.get());
    ASSERT_TRUE(peers.ok()) << peers.status();
    peers_ = *std::move(peers);
    passed_ = std::move(doorbell->to_pass);
  }

  UniqueFd own_;
  UniqueFd peers_;
  UniqueFd passed_;
};

TEST_F(DoorbellTest, IsReadableFromRingToClear) {
  EXPECT_FALSE(Readable(own_));
  EXPECT_FALSE(ClearDoorbell(own_.get()));
  RingDoorbell(peers_.get());
  RingDoorbell(peers_.get());
  EXPECT_TRUE(Readable(own_));
  EXPECT_TRUE(ClearDoorbell(own_.get()));
  EXPECT_FALSE(Readable(own_));
}

TEST_F(DoorbellTest, AFullOneDoesNotHoldWhoRings) {
  const int capacity = fcntl(own_.get(), F_GETPIPE_SZ);
  ASSERT_GT(capacity, 0);
  for (int i = 0; i < capacity + 1000; ++i) RingDoorbell(peers_.get());
  EXPECT_TRUE(ClearDoorbell(own_.get()));
  EXPECT_FALSE(Readable(own_)) << "a whole pipe at once";
}

// A peer has the descriptor that was passed, and those that it opens by itself.
TEST_F(DoorbellTest, NoPeerCanMakeTheOtherEndWait) {
  for (const UniqueFd* of_the_peer : {&passed_, &peers_}) {
    ASSERT_EQ(fcntl(of_the_peer->get(), F_SETFL, 0), 0);
    EXPECT_TRUE(Waits(*of_the_peer));
    EXPECT_FALSE(Waits(own_));
  }
  EXPECT_FALSE(ClearDoorbell(own_.get()));
}

TEST_F(DoorbellTest, WhoRingsOneThatIsGoneIsNotKilled) {
  own_.Reset();
  passed_.Reset();
  RingDoorbell(peers_.get());  // no SIGPIPE
  EXPECT_TRUE(Readable(peers_));
}

TEST_F(DoorbellTest, WithoutAPeerItDoesNotHangUp) {
  peers_.Reset();
  passed_.Reset();
  EXPECT_FALSE(Readable(own_));
}

TEST(OpenDoorbellTest, TakesPipesAlone) {
  const UniqueFd file(open("/dev/null", O_RDWR | O_CLOEXEC));
  const UniqueFd memory(memfd_create("pipe:[1]", MFD_CLOEXEC));
  for (const UniqueFd* other : {&file, &memory}) {
    EXPECT_EQ(OpenDoorbell(other->get()).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_FALSE(OpenDoorbell(-1).ok());
}

}  // namespace
}  // namespace skein::channel::shm
