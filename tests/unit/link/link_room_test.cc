#include "core/link/link_room.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "core/channel/shm/shm_transport.h"
#include "core/fabric/sim/simulation.h"
#include "gtest/gtest.h"
#include "tests/support/descriptor_limit.h"
#include "tests/support/hooked_device.h"
#include "tests/support/thread_state.h"

namespace skein::link {
namespace {

// Connections whose peers close them, and who is told.
class LinkRoomTest : public testing::Test {
 protected:
  struct Connection {
    UniqueFd own, peers;
    std::shared_ptr<Lifeline> lifeline = std::make_shared<Lifeline>();
    int cut = 0;
  };

  static void Connect(Connection& connection) {
    std::array<int, 2> ends;
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    connection.own = UniqueFd(ends[0]);
    connection.peers = UniqueFd(ends[1]);
    connection.lifeline->fd = connection.own.get();
    connection.lifeline->cut = [&connection] { ++connection.cut; };
  }

  const std::shared_ptr<Link> link_ = Link::Create(channel::OpenShm(), {wire::kRingGranule}).value();
  LinkRoom room_{link_, {}};
};

TEST_F(LinkRoomTest, WhoseConnectionEndsIsToldOnce) {
  Connection ended, other;
  for (Connection* each : {&ended, &other}) {
    Connect(*each);
    EXPECT_TRUE(room_.Add(each->lifeline).ok());
  }
  EXPECT_FALSE(room_.LookAtLifelines());
  ended.peers.Reset();
  EXPECT_TRUE(room_.LookAtLifelines());
  EXPECT_FALSE(room_.LookAtLifelines());
  EXPECT_EQ(ended.cut, 1);
  EXPECT_EQ(other.cut, 0);
  room_.Remove(other.lifeline);
}

// Of two that have ended, whichever is told first makes way, with the other, for new ones that get their numbers.
TEST_F(LinkRoomTest, ANewConnectionIsNotTakenForTheOneThatHadItsNumber) {
  std::array<Connection, 2> ended, later;
  const auto replace = [&](size_t i) {
    room_.Remove(ended[i].lifeline);
    const int number = ended[i].own.get();
    Connect(later[i]);
    ASSERT_EQ(dup3(later[i].own.get(), number, O_CLOEXEC), number);  // closes what had it
    later[i].own = std::move(ended[i].own);
    later[i].lifeline->fd = number;
    ASSERT_TRUE(room_.Add(later[i].lifeline).ok());
  };
  for (Connection& each : ended) {
    Connect(each);
    each.lifeline->cut = [&] {
      ++each.cut;
      for (const size_t i : {0, 1}) replace(i);
    };
    ASSERT_TRUE(room_.Add(each.lifeline).ok());
  }
  for (Connection& each : ended) each.peers.Reset();
  EXPECT_TRUE(room_.LookAtLifelines());
  EXPECT_EQ(ended[0].cut + ended[1].cut, 1);
  for (Connection& each : later) {
    EXPECT_EQ(each.cut, 0);
    room_.Remove(each.lifeline);
  }
}

// Nothing can wake a waiting thread, so the thread looks every few milliseconds.
class UnwatchedTest : public testing::Test {
 protected:
  // Time is real: a thread sleeps on the descriptor, which nothing makes readable.
  std::shared_ptr<Link> LinkOf(fabric::Hooks hooks) {
    hooks.fd = [this](int) { return never_.get(); };
    auto device = std::make_shared<fabric::HookedDevice>(simulation_.CreateDevice("here"), std::move(hooks));
    return Link::Create(std::move(device), {wire::kRingGranule}).value();
  }
  // A thread waits for `ticket`; once it sleeps, calls `then`. Whether the thread's wait succeeds.
  static bool Await(LinkRoom& room, Ticket& ticket, const std::function<void()>& then) {
    ticket.Begin();
    std::atomic<pid_t> waiter = 0;
    bool came = false;
    std::thread waits([&] {
      waiter = gettid();
      const Deadline soon = After(kSoon);
      came = room.Wait(ticket, soon) && Clock::now() < soon;
    });
    while (waiter == 0) std::this_thread::yield();
    EXPECT_TRUE(ThreadState(waiter).IsFoundAsleep(After(kSoon)));
    then();
    waits.join();
    return came;
  }
  static constexpr absl::Duration kSoon = absl::Seconds(20);

  fabric::Simulation simulation_{20261128};
  const UniqueFd never_{eventfd(0, EFD_CLOEXEC)};
};

TEST_F(UnwatchedTest, AWaitingThreadLooksAtAConnectionThatTheKernelDoesNotWatch) {
  LinkRoom room(LinkOf({.watches = false}), {WaitMode::kBlock, absl::ZeroDuration()});
  std::array<int, 2> ends;
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const UniqueFd own(ends[0]);
  UniqueFd peers(ends[1]);
  Ticket ticket;
  const auto lifeline = std::make_shared<Lifeline>();
  lifeline->fd = own.get();
  lifeline->cut = [&] { room.Bring(ticket); };
  EXPECT_FALSE(room.Add(lifeline).ok());
  EXPECT_TRUE(Await(room, ticket, [&] { peers.Reset(); }));
}

// Another thread polls the link, and has taken the wake-up out of the link's descriptor.
TEST_F(UnwatchedTest, ARoomWithoutADescriptorOfItsOwnForgetsNoWaitingThread) {
  if (kSanitizerNeedsDescriptors) GTEST_SKIP();
  const std::shared_ptr<Link> link = LinkOf({.wakes = false});
  std::optional<LinkRoom> room;
  {
    const DescriptorLimit none(0);
    room.emplace(link, wait::SpinPolicy{WaitMode::kBlock, absl::ZeroDuration()});
  }
  Ticket ticket;
  EXPECT_TRUE(Await(*room, ticket, [&] { room->Bring(ticket); }));
}

}  // namespace
}  // namespace skein::link
