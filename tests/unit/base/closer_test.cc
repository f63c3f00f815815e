#include "core/base/closer.h"

#include <sys/socket.h>

#include <array>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/lingering.h"

namespace skein {
namespace {

// Eight threads, and sixty-four that wait.
TEST(CloserTest, HasNoRoomWhereNothingCanBeClosedAndThenSomeAgain) {
  std::vector<Lingering> all(8 + 64);
  EXPECT_TRUE(Closer::Get().HasRoom());
  for (Lingering& each : all) {
    ASSERT_TRUE(each.end.valid());
    Closer::Get().Close(std::move(each.end));
  }
  EXPECT_FALSE(Closer::Get().HasRoom());
  all.clear();
  while (!Closer::Get().HasRoom()) std::this_thread::yield();
}

TEST(CloserTest, ThePeerOfASocketSeesItsEndAndIsNotReset) {
  std::array<int, 2> ends;
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  const UniqueFd peers(ends[0]);
  ASSERT_EQ(send(peers.get(), "unread", 6, 0), 6);
  ASSERT_EQ(send(ends[1], "last", 4, 0), 4);
  Closer::Get().CloseSocket(UniqueFd(ends[1]));
  char bytes[8];
  EXPECT_EQ(recv(peers.get(), bytes, sizeof(bytes), 0), 4);
  EXPECT_EQ(recv(peers.get(), bytes, sizeof(bytes), 0), 0);
}

}  // namespace
}  // namespace skein
