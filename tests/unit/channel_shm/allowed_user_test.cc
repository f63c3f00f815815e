// A peer of another user whom an option allows: it is trusted with messages, and not with this process's threads.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "core/base/errno_status.h"
#include "core/base/fallback.h"
#include "core/base/socket_message.h"
#include "core/channel/shm/peer_memory.h"
#include "core/channel/shm/side_message.h"
#include "core/channel/shm/transport_core.h"
#include "tests/support/descriptor_limit.h"
#include "tests/support/lingering.h"
#include "tests/support/refused_shm_calls.h"
#include "tests/unit/channel_shm/another_user.h"
#include "tests/unit/channel_shm/two_channels.h"

namespace skein::channel::shm {
namespace {

ShmOptions Allowing(uid_t user) { return {.peer_users = PeerUsers({user}), .settle_time = absl::Hours(1)}; }

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
  CoreOf(*end.transport)->refusals.Note(absl::ResourceExhaustedError("no memory"), kNobody);
  ShmEnd peer(Allowing(0));
  const absl::Status lately = Meet(end, peer);
  EXPECT_THAT(lately.ToString(), ::testing::HasSubstr("lately, with user 65534: no memory"));
  EXPECT_TRUE(end.transport->Usable().ok()) << "others are met";
}

// A server of the other user's, which has the memory and the socket in its hands.
struct RawUser {
  explicit RawUser(ShmEnd& end) {
    const Offer offer = DecodeOffer(end.channel->Offer().value()).value();
    UniqueFd memfd = CreateSealedMemfd("raw", SharedBytes(kRing)).value();
    memory = Map(memfd.get(), SharedBytes(kRing)).value();
    AsAnotherUser([&] {
      absl::StatusOr<Meeting> meeting = shm::Meet(offer, PeerUsers({0}), {}, std::move(memfd));
      ASSERT_TRUE(meeting.ok()) << meeting.status();
      socket = std::move(meeting->socket);
    });
    Channel::Answer answer;
    answer.connection = "\x01met";
    answer.ring.size = kRing;
    EXPECT_EQ(end.channel->Complete(answer), absl::OkStatus());
  }
  Mapping memory;
  UniqueFd socket;
};

// A pipe of theirs, which they could hold the lock of, is not rung.
TEST_F(ShmAllowedUser, WhosePipeIsPassedIsNotRung) {
  ShmEnd end(Allowing(kNobody));
  const RawUser peer(end);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  SideMessage message;
  message.kind = SideMessageKind::kPassPipe;
  ASSERT_EQ(SendMessage(peer.socket.get(), message.view(), ends[0]), SendResult::kSent);
  end.group->AckAllEvents();
  EXPECT_FALSE(end.channel->Ended());
  reinterpret_cast<Control*>(peer.memory.data())->ends[0].sleeps = 1;
  ASSERT_TRUE(end.Send("ring").ok());
  SocketMessage heard;
  ASSERT_EQ(ReceiveMessage(peer.socket.get(), heard), ReceiveResult::kMessage);
  EXPECT_FALSE(heard.fd.valid()) << "and none was passed either";
  ASSERT_TRUE(SideMessage::Parse(heard.view(), message));
  EXPECT_EQ(message.kind, SideMessageKind::kWakeUp);
  message.kind = SideMessageKind::kPassPipe;
  ASSERT_EQ(SendMessage(peer.socket.get(), message.view(), ends[0]), SendResult::kSent);
  end.group->AckAllEvents();
  EXPECT_TRUE(end.channel->peer_broke_protocol()) << "each takes a thread to close it";
  close(ends[0]);
  close(ends[1]);
}

TEST_F(ShmAllowedUser, WhoLeavesUnreadWhatLingersHoldsNobodyUp) {
  Lingering lingering;
  ShmEnd end(Allowing(kNobody));
  const RawUser peer(end);
  ASSERT_TRUE(lingering.Pass(peer.socket.get()));
  end.channel = nullptr;  // an hour, if this thread closed the socket
  pollfd closed = {peer.socket.get(), POLLRDHUP, 0};
  EXPECT_EQ(poll(&closed, 1, 10'000), 1) << "the peer sees the end all the same";
}

TEST_F(ShmAllowedUser, WhosePassedMemoryTheKernelRefusesIsLeftAloneForAWhile) {
  ShmEnd end(Allowing(kNobody));
  const RawUser peer(end);
  end.channel->ExpectMemory();
  SideMessage grant;
  grant.kind = SideMessageKind::kGrant;
  grant.size = 4096;
  ASSERT_EQ(SendMessage(peer.socket.get(), grant.view(), CreateSealedMemfd("raw", grant.size)->get()),
            SendResult::kSent);
  Refused({SYS_mmap, 3, MAP_SHARED}, EPERM, [&] { end.group->AckAllEvents(); });
  EXPECT_TRUE(CameOfErrno(end.channel->why_ended())) << end.channel->why_ended();
  EXPECT_FALSE(end.channel->peer_broke_protocol());
  EXPECT_EQ(reinterpret_cast<Control*>(peer.memory.data())->ends[1].state, static_cast<uint32_t>(EndState::kUnable));
  EXPECT_EQ(end.transport->Usable(), absl::OkStatus()) << "others are met";
  end.channel = end.group->Open({kRing}).value();
  ShmEnd next(Allowing(0));
  EXPECT_THAT(Meet(end, next).ToString(), ::testing::HasSubstr("lately, with user 65534"));
}

// `ulimit -v`: while this lives, the process has no space for a mapping of a GiB.
class NoSpaceForAGiB {
 public:
  NoSpaceForAGiB() {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    getrlimit(RLIMIT_AS, &before_);
    const rlimit limit = {pages * static_cast<rlim_t>(getpagesize()) + (rlim_t{512} << 20), before_.rlim_max};
    setrlimit(RLIMIT_AS, &limit);
  }
  ~NoSpaceForAGiB() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_ = {};
};

// No peer had shared memory any more. The size is the peer's choice: so it can always be one that this process's limit
// does not allow.
TEST(ShmAllowedUsersMemory, ThatMayNotBeMappedIsARefusalOfTheKernelAndNoProtocolError) {
  if (kSanitizerNeedsDescriptors) GTEST_SKIP() << "a sanitizer maps more by itself";
  // None of its pages is there.
  const UniqueFd large(memfd_create("large", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  SideMessage grant;
  grant.kind = SideMessageKind::kGrant;
  grant.access = fabric::kRemoteRead;
  grant.size = size_t{1} << 30;
  ASSERT_EQ(ftruncate(large.get(), static_cast<off_t>(grant.size)), 0);
  ASSERT_EQ(fcntl(large.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
  const ShmOptions limits;
  PeerMemory memory{limits};
  {
    const NoSpaceForAGiB none;
    EXPECT_TRUE(CameOfErrno(memory.Add(grant, large.get())));
  }
  EXPECT_EQ(memory.Add(grant, large.get()), absl::OkStatus());
}

}  // namespace
}  // namespace skein::channel::shm
