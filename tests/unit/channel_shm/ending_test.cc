// What becomes of a channel whose peer dies, breaks the protocol or is refused something.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "core/base/socket_message.h"
#include "core/channel/shm/side_message.h"
#include "tests/unit/channel_shm/two_channels.h"

namespace skein::channel::shm {
namespace {

using ::testing::HasSubstr;

constexpr int kGuardMs = 10'000;

std::string WhyEnded(ShmEnd& end) {
  end.group->AckAllEvents();
  end.channel->Ended();
  return end.channel->connected() ? "connected" : end.channel->why_ended().ToString();
}

TEST(ShmEnding, TheTextsSayWhoEndedIt) {
  ShmEnd active;
  ShmEnd passive;
  ASSERT_TRUE(Connect(active, passive).ok());
  passive.channel->Close();
  EXPECT_EQ(WhyEnded(passive), "CANCELLED: closed by this end");
  EXPECT_EQ(WhyEnded(active), "UNAVAILABLE: the peer closed the connection");
  EXPECT_FALSE(active.channel->peer_broke_protocol());
}

TEST(ShmEnding, APeerThatDiesIsNoticedAndWhatItSentIsRead) {
  ShmEnd active;
  // A pipe each way stands for the channel that both negotiate on.
  std::array<int, 2> there;
  std::array<int, 2> back;
  ASSERT_EQ(pipe(there.data()), 0);
  ASSERT_EQ(pipe(back.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::array<char, 256> offer;
    const ssize_t size = read(there[0], offer.data(), offer.size());
    ShmEnd passive;
    const Channel::Answer answer = passive.channel->Accept({offer.data(), static_cast<size_t>(size)}).value();
    passive.channel->OnGreeting("").IgnoreError();
    passive.Send("last words").IgnoreError();
    if (write(back[1], answer.connection.data(), answer.connection.size()) < 0) _exit(1);
    pause();  // until it is killed
    _exit(1);
  }
  const std::string offer = active.channel->Offer().value();
  ASSERT_EQ(write(there[1], offer.data(), offer.size()), static_cast<ssize_t>(offer.size()));
  std::array<char, 256> said;
  Channel::Answer answer;
  answer.connection = {said.data(), static_cast<size_t>(read(back[0], said.data(), said.size()))};
  answer.ring.size = kRing;
  ASSERT_TRUE(active.channel->Complete(answer).ok());
  active.group->AckAllEvents();
  ASSERT_TRUE(active.group->Arm().ok());
  EXPECT_FALSE(active.channel->Ended());
  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(active.group->Sleep(-1, kGuardMs).by_queue);
  active.group->AckAllEvents();
  EXPECT_TRUE(active.channel->Ended());
  EXPECT_EQ(active.channel->why_ended().ToString(), "UNAVAILABLE: the peer process is gone");
  EXPECT_EQ(active.Read(), "last words");
  EXPECT_EQ(active.Read(), "nothing");
  EXPECT_FALSE(active.channel->peer_broke_protocol());
  for (const int fd : {there[0], there[1], back[0], back[1]}) close(fd);
}

TEST(ShmEnding, APeerThatIsRefusedSomethingSaysSo) {
  ShmEnd active;
  RawPeer peer(active);
  ASSERT_TRUE(peer.completed.ok());
  peer.own().state = static_cast<uint32_t>(EndState::kUnable);
  EXPECT_EQ(WhyEnded(active), "UNAVAILABLE: the peer was refused a descriptor, memory or a system call");
  EXPECT_FALSE(active.channel->peer_broke_protocol());
}

TEST(ShmEnding, APeerThatSaysThisEndBrokeItIsBelieved) {
  ShmEnd active;
  RawPeer peer(active);
  peer.own().state = static_cast<uint32_t>(EndState::kBroken);
  EXPECT_EQ(WhyEnded(active), "DATA_LOSS: the peer says that this end broke the protocol");
  EXPECT_FALSE(active.channel->peer_broke_protocol()) << "it did not";
}

TEST(ShmEnding, AStateOfNoKindIsAnEnd) {
  ShmEnd active;
  RawPeer peer(active);
  peer.own().state = 77;
  EXPECT_EQ(WhyEnded(active), "UNAVAILABLE: the peer closed the connection");
}

TEST(ShmEnding, APositionOfNoKindIsAProtocolErrorAndThePeerHearsIt) {
  ShmEnd active;
  RawPeer peer(active);
  peer.own().published = 1;
  EXPECT_TRUE(active.channel->Readable());
  EXPECT_THAT(active.Read(), HasSubstr("DATA_LOSS: the peer has published"));
  EXPECT_TRUE(active.channel->peer_broke_protocol());
  EXPECT_FALSE(active.channel->connected());
  EXPECT_EQ(peer.control().ends[1].state, static_cast<uint32_t>(EndState::kBroken));
  EXPECT_TRUE(active.transport->Usable().ok());
}

// Seen when the writer looks for free space, though a sender whose messages all fit does not ask how much there is.
TEST(ShmEnding, ConsumingWhatWasNotPublishedIsAProtocolError) {
  ShmEnd active;
  RawPeer peer(active);
  ASSERT_TRUE(active.Send("one").ok());
  peer.own().consumed = 1024 * kUnit;
  for (int i = 0; i < 200 && active.channel->connected(); ++i) active.Send("more").IgnoreError();
  EXPECT_TRUE(active.channel->peer_broke_protocol());
  EXPECT_THAT(WhyEnded(active), HasSubstr("the peer consumed what was not published"));
  EXPECT_FALSE(active.Send("two").ok());
}

// A wish to be woken and a flag that one sleeps: of no value can more come than a ring.
TEST(ShmEnding, WishesOfNoKindHarmNobody) {
  ShmEnd active;
  RawPeer peer(active);
  for (const uint64_t wish : {uint64_t{1}, ~uint64_t{0}, uint64_t{1} << 63}) {
    peer.own().wakes_at = wish;
    peer.own().sleeps = 0xffffffff;
    peer.control().ends[1].wakes_at = wish;
    peer.control().ends[1].sleeps = 7;
    ASSERT_TRUE(active.Send("text").ok());
    EXPECT_EQ(peer.own().sleeps, 0u) << "taken down by who rang";
    active.channel->MoreSpace();
    ASSERT_TRUE(active.channel->Heed().ok());
    active.group->Arm().IgnoreError();
    active.group->Disarm();
    active.channel->AfterReading();
  }
  EXPECT_TRUE(active.channel->connected());
}

TEST(ShmEnding, MessagesOfNoKindOnTheSocketAreAProtocolError) {
  const auto protocol_error = [](absl::string_view bytes, int fd = -1) {
    ShmEnd active;
    RawPeer peer(active);
    EXPECT_EQ(SendMessage(peer.socket(), bytes, fd), SendResult::kSent);
    const std::string why = WhyEnded(active);
    EXPECT_TRUE(active.channel->peer_broke_protocol()) << why;
    EXPECT_TRUE(active.transport->Usable().ok());
    return why;
  };
  EXPECT_THAT(protocol_error("short"), HasSubstr("malformed message"));
  EXPECT_THAT(protocol_error(std::string(300, 'x')), HasSubstr("malformed message"));
  SideMessage message;
  for (const uint32_t kind : {0u, 2u, 4u, 6u, 99u}) {
    message.kind = static_cast<SideMessageKind>(kind);
    EXPECT_THAT(protocol_error(message.view()), HasSubstr("unknown message")) << kind;
  }
  message.kind = SideMessageKind::kPassPipe;
  const UniqueFd no_pipe(open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_THAT(protocol_error(message.view(), no_pipe.get()), HasSubstr("not its one wakeup pipe"));
}

TEST(ShmEnding, OneNotificationAndNoMore) {
  ShmEnd active;
  RawPeer peer(active);
  std::array<int, 2> ends;
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  SideMessage message;
  message.kind = SideMessageKind::kPassPipe;
  EXPECT_EQ(SendMessage(peer.socket(), message.view(), ends[0]), SendResult::kSent);
  EXPECT_EQ(WhyEnded(active), "connected");
  // It rings there from now on.
  peer.own().sleeps = 1;
  ASSERT_TRUE(active.Send("ring").ok());
  pollfd wait = {ends[0], POLLIN, 0};
  EXPECT_EQ(poll(&wait, 1, kGuardMs), 1);
  EXPECT_EQ(SendMessage(peer.socket(), message.view(), ends[0]), SendResult::kSent);
  EXPECT_THAT(WhyEnded(active), HasSubstr("not its one wakeup pipe"));
  close(ends[0]);
  close(ends[1]);
}

// Where the peer has given no notification, messages on the socket wake it.
TEST(ShmEnding, WithoutANotificationTheSocketRings) {
  ShmEnd active;
  RawPeer peer(active);
  SocketMessage notification;
  EXPECT_EQ(ReceiveMessage(peer.socket(), notification), ReceiveResult::kMessage) << "its own pipe";
  peer.own().sleeps = 1;
  ASSERT_TRUE(active.Send("ring").ok());
  SocketMessage ring;
  ASSERT_EQ(ReceiveMessage(peer.socket(), ring), ReceiveResult::kMessage);
  SideMessage parsed;
  ASSERT_TRUE(SideMessage::Parse(ring.view(), parsed));
  EXPECT_EQ(parsed.kind, SideMessageKind::kWakeUp);
}

}  // namespace
}  // namespace skein::channel::shm
