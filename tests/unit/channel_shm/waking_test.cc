// Notifications that ring on the socket, as long as a peer knows no better one: they are the sleeper's.
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

}  // namespace
}  // namespace skein::channel::shm
