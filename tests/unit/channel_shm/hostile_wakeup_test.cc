// A peer that passes something else for its wakeup pipe, or none, or two; or what takes an hour to be closed. A test
// that does not end has found somebody who waits for that.
#include <fcntl.h>
#include <unistd.h>

#include "core/base/empty_pipe.h"
#include "core/base/socket_message.h"
#include "core/channel/shm/side_message.h"
#include "core/channel/shm/wakeup_pipe.h"
#include "tests/support/lingering.h"
#include "tests/unit/channel_shm/pass_descriptors.h"
#include "tests/unit/channel_shm/two_channels.h"

namespace skein::channel::shm {
namespace {

class HostileWakeup : public testing::Test {
 protected:
  // Whether the end that is sent `fd` as a wakeup pipe goes on.
  bool GoesOnWith(int fd) {
    SideMessage message;
    message.kind = SideMessageKind::kPassPipe;
    EXPECT_EQ(SendMessage(peer_.socket(), message.view(), fd), SendResult::kSent);
    return GoesOn();
  }
  bool GoesOn() {
    end_.group->AckAllEvents();
    return !end_.channel->Ended();
  }
  UniqueFd Wakeup() const {
    SocketMessage message;
    EXPECT_EQ(ReceiveMessage(peer_.socket(), message), ReceiveResult::kMessage);
    return OpenWakeupPipe(message.fd.get()).value();
  }

  ShmEnd end_;
  RawPeer peer_{end_};
};

TEST_F(HostileWakeup, IsNoPipe) {
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_FALSE(GoesOnWith(null.get()));
  EXPECT_TRUE(absl::IsDataLoss(end_.channel->why_ended())) << end_.channel->why_ended();
}

TEST_F(HostileWakeup, IsMissing) { EXPECT_TRUE(GoesOnWith(-1)) << "messages ring"; }

TEST_F(HostileWakeup, ComesTwice) {
  const UniqueFd wakeup_pipe = CreateWakeupPipe().value();
  ASSERT_TRUE(GoesOnWith(wakeup_pipe.get()));
  EXPECT_FALSE(GoesOnWith(wakeup_pipe.get()));
}

TEST_F(HostileWakeup, ComesWithASecondDescriptor) {
  const UniqueFd wakeup_pipe = CreateWakeupPipe().value();
  SideMessage message;
  message.kind = SideMessageKind::kPassPipe;
  PassDescriptors(peer_.socket(), message, {wakeup_pipe.get(), wakeup_pipe.get()});
  EXPECT_FALSE(GoesOn());
  EXPECT_TRUE(absl::IsDataLoss(end_.channel->why_ended())) << end_.channel->why_ended();
}

TEST_F(HostileWakeup, IsFlooded) {
  const UniqueFd notification = Wakeup();
  for (int i = 0; i < 10000; ++i) WriteWakeup(notification.get());
  EXPECT_TRUE(GoesOn());
  EXPECT_FALSE(EmptyPipe(notification.get())) << "all of it was taken";
}

// A killed process says nothing in shared memory: only its socket tells.
TEST_F(HostileWakeup, IsRungByAPeerThatHasGoneSince) {
  const UniqueFd notification = Wakeup();
  WriteWakeup(notification.get());
  peer_.meeting->socket.Reset();
  EXPECT_FALSE(GoesOn()) << "no other change would wake the sleeper";
}

TEST_F(HostileWakeup, RingsWithADescriptor) {
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  ASSERT_EQ(SendMessage(peer_.socket(), SideMessage{}.view(), null.get()), SendResult::kSent);
  EXPECT_FALSE(GoesOn());
  EXPECT_TRUE(end_.channel->peer_broke_protocol()) << end_.channel->why_ended();
}

TEST_F(HostileWakeup, OfWhatLingersHoldsUpNobody) {
  Lingering lingering;
  ASSERT_TRUE(lingering.end.valid());
  SideMessage message;
  PassDescriptors(peer_.socket(), message, {lingering.end.get()});
  lingering.end.Reset();
  EXPECT_FALSE(GoesOn());
  EXPECT_TRUE(end_.channel->peer_broke_protocol());
}

TEST_F(HostileWakeup, OrMemoryOfWhatLingersHoldsUpNobody) {
  end_.channel->ExpectMemory();
  Lingering lingering;
  ASSERT_TRUE(lingering.end.valid());
  SideMessage message;
  message.kind = SideMessageKind::kGrant;
  message.size = 4096;
  PassDescriptors(peer_.socket(), message, {lingering.end.get()});
  lingering.end.Reset();
  EXPECT_FALSE(GoesOn());
  EXPECT_TRUE(end_.channel->peer_broke_protocol());
}

}  // namespace
}  // namespace skein::channel::shm
