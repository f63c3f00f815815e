#include "core/link/link_room.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <utility>

#include "core/fabric/shm/shm_device.h"
#include "gtest/gtest.h"

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

  const std::shared_ptr<Link> link_ = Link::Create(fabric::OpenShmDevice().value(), {wire::kRingGranule}).value();
  LinkRoom room_{link_, {}};
};

TEST_F(LinkRoomTest, WhoseConnectionEndsIsToldOnce) {
  Connection ended, other;
  for (Connection* each : {&ended, &other}) {
    Connect(*each);
    room_.Add(each->lifeline);
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
    room_.Add(later[i].lifeline);
  };
  for (Connection& each : ended) {
    Connect(each);
    each.lifeline->cut = [&] {
      ++each.cut;
      for (const size_t i : {0, 1}) replace(i);
    };
    room_.Add(each.lifeline);
  }
  for (Connection& each : ended) each.peers.Reset();
  EXPECT_TRUE(room_.LookAtLifelines());
  EXPECT_EQ(ended[0].cut + ended[1].cut, 1);
  for (Connection& each : later) {
    EXPECT_EQ(each.cut, 0);
    room_.Remove(each.lifeline);
  }
}

}  // namespace
}  // namespace skein::link
