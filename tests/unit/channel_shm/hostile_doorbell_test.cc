// A peer that passes something else for its doorbell, or none, or two; or what takes an hour to be closed. A test that
// does not end has found somebody who waits for that.
#include <fcntl.h>
#include <unistd.h>

#include "core/base/socket_message.h"
#include "core/channel/shm/doorbell.h"
#include "core/channel/shm/side_message.h"
#include "tests/support/lingering.h"
#include "tests/unit/channel_shm/pass_descriptors.h"
#include "tests/unit/channel_shm/two_channels.h"

namespace skein::channel::shm {
namespace {

class HostileDoorbell : public testing::Test {
 protected:
  // Whether the end that is sent `fd` as a doorbell goes on.
  bool GoesOnWith(int fd) {
    SideMessage message;
    message.kind = SideMessageKind::kRingHere;
    EXPECT_EQ(SendMessage(peer_.socket(), message.view(), fd), SendResult::kSent);
    return GoesOn();
  }
  bool GoesOn() {
    end_.group->AckAllEvents();
    return !end_.channel->Ended();
  }
  UniqueFd Bell() const {
    SocketMessage message;
    EXPECT_EQ(ReceiveMessage(peer_.socket(), message), ReceiveResult::kMessage);
    return OpenDoorbell(message.fd.get()).value();
  }

  ShmEnd end_;
  RawPeer peer_{end_};
};

TEST_F(HostileDoorbell, IsNoPipe) {
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_FALSE(GoesOnWith(null.get()));
  EXPECT_TRUE(absl::IsDataLoss(end_.channel->why_ended())) << end_.channel->why_ended();
}

TEST_F(HostileDoorbell, IsMissing) { EXPECT_TRUE(GoesOnWith(-1)) << "messages ring"; }

TEST_F(HostileDoorbell, ComesTwice) {
  const NewDoorbell doorbell = CreateDoorbell().value();
  ASSERT_TRUE(GoesOnWith(doorbell.to_pass.get()));
  EXPECT_FALSE(GoesOnWith(doorbell.to_pass.get()));
}

TEST_F(HostileDoorbell, ComesWithASecondDescriptor) {
  const NewDoorbell doorbell = CreateDoorbell().value();
  SideMessage message;
  message.kind = SideMessageKind::kRingHere;
  PassDescriptors(peer_.socket(), message, {doorbell.own.get(), doorbell.to_pass.get()});
  EXPECT_FALSE(GoesOn());
  EXPECT_TRUE(absl::IsDataLoss(end_.channel->why_ended())) << end_.channel->why_ended();
}

TEST_F(HostileDoorbell, IsFlooded) {
  const UniqueFd bell = Bell();
  for (int i = 0; i < 10000; ++i) RingDoorbell(bell.get());
  EXPECT_TRUE(GoesOn());
  EXPECT_FALSE(ClearDoorbell(bell.get())) << "all of it was taken";
}

// A killed process says nothing in shared memory: only its socket tells.
TEST_F(HostileDoorbell, IsRungByAPeerThatHasGoneSince) {
  const UniqueFd bell = Bell();
  RingDoorbell(bell.get());
  peer_.meeting->socket.Reset();
  EXPECT_FALSE(GoesOn()) << "no other change would wake the sleeper";
}

TEST_F(HostileDoorbell, RingsWithADescriptor) {
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  ASSERT_EQ(SendMessage(peer_.socket(), SideMessage{}.view(), null.get()), SendResult::kSent);
  EXPECT_FALSE(GoesOn());
  EXPECT_TRUE(end_.channel->breached()) << end_.channel->why_ended();
}

TEST_F(HostileDoorbell, OfWhatLingersHoldsUpNobody) {
  Lingering lingering;
  ASSERT_TRUE(lingering.end.valid());
  SideMessage message;
  PassDescriptors(peer_.socket(), message, {lingering.end.get()});
  lingering.end.Reset();
  EXPECT_FALSE(GoesOn());
  EXPECT_TRUE(end_.channel->breached());
}

TEST_F(HostileDoorbell, OrMemoryOfWhatLingersHoldsUpNobody) {
  end_.channel->ExpectMemory();
  Lingering lingering;
  ASSERT_TRUE(lingering.end.valid());
  SideMessage message;
  message.kind = SideMessageKind::kGrant;
  message.size = 4096;
  PassDescriptors(peer_.socket(), message, {lingering.end.get()});
  lingering.end.Reset();
  EXPECT_FALSE(GoesOn());
  EXPECT_TRUE(end_.channel->breached());
}

}  // namespace
}  // namespace skein::channel::shm
