// Bells that ring on the socket, as long as a peer knows no better one: they are the sleeper's.
#include "tests/unit/channel_shm/two_channels.h"

namespace skein::channel::shm {
namespace {

// A thread that connects looks, for its connection's sake, while another one sleeps.
TEST(ShmWaking, WhoLooksForThePeerTakesNobodysBell) {
  ShmEnd active;
  ShmEnd passive;
  ASSERT_TRUE(Connect(active, passive).ok());
  passive.group->AckAllEvents();
  ASSERT_TRUE(passive.group->Arm().ok());
  ASSERT_EQ(passive.Read(), "nothing");
  // The active end has not polled yet: the passive end's pipe still lies in its socket.
  ASSERT_TRUE(active.Send("wake up").ok());
  EXPECT_TRUE(passive.channel->StillConnected());
  EXPECT_TRUE(passive.group->Sleep(-1, 10'000).by_queue);
  EXPECT_EQ(passive.Read(), "wake up");
}

TEST(ShmWaking, WhoLooksForThePeerSeesItGoThoughItsBellsLieUnheard) {
  ShmEnd active;
  ShmEnd passive;
  ASSERT_TRUE(Connect(active, passive).ok());
  passive.group->AckAllEvents();
  ASSERT_TRUE(passive.group->Arm().ok());
  ASSERT_TRUE(active.Send("last words").ok());
  active.channel->Close();
  EXPECT_FALSE(passive.channel->StillConnected());
  EXPECT_EQ(passive.Read(), "last words");
}

}  // namespace
}  // namespace skein::channel::shm
