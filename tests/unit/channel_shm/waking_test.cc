// Notifications that ring on the socket, as long as a peer knows no better one: they are the sleeper's.
#include <sys/syscall.h>

#include <cerrno>

#include "tests/support/refused_shm_calls.h"
#include "tests/unit/channel_shm/two_channels.h"

namespace skein::channel::shm {
namespace {

// The passive end is about to sleep. The active end has not polled yet: the passive end's pipe lies in its socket.
class ShmWaking : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Connect(active_, passive_).ok());
    passive_.group->AckAllEvents();
    ASSERT_TRUE(passive_.group->Arm().ok());
    ASSERT_EQ(passive_.Read(), "nothing");
  }

  ShmEnd active_;
  ShmEnd passive_;
};

// A thread that connects looks, for its connection's sake, while another one sleeps.
TEST_F(ShmWaking, WhoLooksForThePeerTakesNobodysNotification) {
  ASSERT_TRUE(active_.Send("wake up").ok());
  EXPECT_TRUE(passive_.channel->StillConnected());
  EXPECT_TRUE(passive_.group->Sleep(-1, 10'000).by_queue);
  EXPECT_EQ(passive_.Read(), "wake up");
}

TEST_F(ShmWaking, WhoLooksForThePeerSeesItGoThoughItsWakeUpsLieUnheard) {
  ASSERT_TRUE(active_.Send("last words").ok());
  active_.channel->Close();
  EXPECT_FALSE(passive_.channel->StillConnected());
  EXPECT_EQ(passive_.Read(), "last words");
}

// Else the peer would sleep on, and so would whoever waits for its answer: the writer has taken the peer's flag down.
TEST_F(ShmWaking, WithoutMemoryForANotificationTheEndOfTheConnectionWakesThePeer) {
  absl::Status sent;
  Refused({SYS_sendmsg}, ENOBUFS, [&] { sent = active_.Send("wake up"); });
  EXPECT_FALSE(active_.channel->connected());
  EXPECT_TRUE(passive_.group->Sleep(-1, 10'000).by_queue);
  EXPECT_EQ(passive_.Read(), "wake up") << "it was published before";
  EXPECT_TRUE(passive_.channel->Ended());
}

TEST_F(ShmWaking, WithoutMemoryForThePipeTheSocketRings) {
  active_.group->AckAllEvents();  // takes the passive end's pipe
  Refused({SYS_write}, ENOMEM, [&] { EXPECT_TRUE(active_.Send("wake up").ok()); });
  EXPECT_TRUE(passive_.group->Sleep(-1, 10'000).by_queue);
  EXPECT_EQ(passive_.Read(), "wake up");
  EXPECT_TRUE(active_.channel->connected());
}

}  // namespace
}  // namespace skein::channel::shm
