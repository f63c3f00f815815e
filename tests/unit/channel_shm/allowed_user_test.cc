// A peer of another user whom an option allows: it is trusted with messages, and not with this process's threads.
#include <unistd.h>

#include "core/base/fallback.h"
#include "core/fabric/shm/device_core.h"
#include "core/fabric/shm/side_message.h"
#include "core/fabric/shm/socket.h"
#include "tests/unit/channel_shm/two_channels.h"
#include "tests/unit/fabric_shm/another_user.h"

namespace skein::channel::shm {
namespace {

constexpr uid_t kNobody = 65534;

fabric::ShmOptions Allowing(uid_t user) { return {.peer_users = PeerUsers({user}), .settle_time = absl::Hours(1)}; }

class ShmAllowedUser : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  }
  // The peer, a server of the other user's, accepts what `end` offers.
  static absl::Status Meet(ShmEnd& end, ShmEnd& peer) {
    const std::string offer = end.channel->Offer().value();
    absl::StatusOr<Channel::Answer> answer = absl::UnknownError("");
    AsAnotherUser([&] { answer = peer.channel->Accept(offer); });
    if (!answer.ok()) return answer.status();
    const absl::Status completed = end.channel->Complete(*answer);
    return completed.ok() ? peer.channel->OnGreeting(end.channel->Greeting()) : completed;
  }
};

TEST_F(ShmAllowedUser, IsMetAndIsGivenNoPipe) {
  ShmEnd end(Allowing(kNobody));
  ShmEnd peer(Allowing(0));
  ASSERT_EQ(Meet(end, peer), absl::OkStatus());
  for (int i = 0; i < 10; ++i) {
    for (auto [from, to] : {std::pair(&end, &peer), std::pair(&peer, &end)}) {
      to->group->AckEvents();
      ASSERT_TRUE(to->group->Arm().ok());
      ASSERT_TRUE(from->Send("ring").ok());
      ASSERT_TRUE(to->group->Sleep(-1, 10'000).by_queue) << "by the socket";
      ASSERT_EQ(to->Read(), "ring");
    }
  }
  peer.channel->Close();
  EXPECT_FALSE(end.channel->StillConnected());
}

TEST_F(ShmAllowedUser, IsNotMetWithoutTheOption) {
  ShmEnd end;
  ShmEnd peer(Allowing(0));
  const absl::Status refused = Meet(end, peer);
  EXPECT_FALSE(refused.ok());
}

TEST_F(ShmAllowedUser, WithWhomTheKernelRefusedSomethingIsLeftAloneForAWhile) {
  ShmEnd end(Allowing(kNobody));
  fabric::shm::CoreOf(*end.device)->refusals.Note(absl::ResourceExhaustedError("no memory"), kNobody);
  ShmEnd peer(Allowing(0));
  const absl::Status lately = Meet(end, peer);
  EXPECT_THAT(lately.ToString(), ::testing::HasSubstr("lately, with user 65534: no memory"));
  EXPECT_TRUE(end.device->Usable().ok()) << "others are met";
}

// A pipe of theirs, which they could hold the lock of, is not rung.
TEST_F(ShmAllowedUser, WhosePipeIsPassedIsNotRung) {
  ShmEnd end(Allowing(kNobody));
  const fabric::shm::Offer offer =
      fabric::shm::DecodeOffer(end.channel->Offer().value(), fabric::shm::OfferOf::kChannel).value();
  UniqueFd memfd = fabric::shm::CreateSealedMemfd("raw", SharedBytes(kRing)).value();
  const Mapping memory = Map(memfd.get(), SharedBytes(kRing)).value();
  UniqueFd socket;
  AsAnotherUser([&] {
    absl::StatusOr<fabric::shm::Meeting> meeting = fabric::shm::Meet(offer, PeerUsers({0}), {}, std::move(memfd));
    ASSERT_TRUE(meeting.ok()) << meeting.status();
    socket = std::move(meeting->socket);
  });
  Channel::Answer answer;
  answer.connection = "\x01met";
  answer.ring.size = kRing;
  ASSERT_EQ(end.channel->Complete(answer), absl::OkStatus());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  fabric::shm::SideMessage message;
  message.kind = fabric::shm::SideMessageKind::kRingHere;
  ASSERT_EQ(fabric::shm::SendMessage(socket.get(), message.view(), ends[0]), fabric::shm::SendResult::kSent);
  end.group->AckAllEvents();
  EXPECT_FALSE(end.channel->Ended());
  reinterpret_cast<Control*>(memory.data())->ends[0].sleeps = 1;
  ASSERT_TRUE(end.Send("ring").ok());
  fabric::shm::Message heard;
  ASSERT_EQ(fabric::shm::ReceiveMessage(socket.get(), heard), fabric::shm::ReceiveResult::kMessage);
  EXPECT_FALSE(heard.fd.valid()) << "and none was passed either";
  ASSERT_TRUE(fabric::shm::SideMessage::Parse(heard.view(), message));
  EXPECT_EQ(message.kind, fabric::shm::SideMessageKind::kDoorbell);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace skein::channel::shm
