#include "core/base/closer.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/lingering.h"
#include "tests/support/refused_shm_calls.h"

namespace skein {
namespace {

// Eight threads, and sixty-four that wait.
TEST(CloserTest, HasNoSpaceWhereNothingCanBeClosedAndThenSomeAgain) {
  std::vector<Lingering> all(8 + 64);
  EXPECT_TRUE(Closer::Get().HasSpace());
  for (Lingering& each : all) {
    ASSERT_TRUE(each.end.valid());
    Closer::Get().Close(std::move(each.end));
  }
  EXPECT_FALSE(Closer::Get().HasSpace());
  all.clear();
  while (!Closer::Get().HasSpace()) std::this_thread::yield();
}

TEST(CloserTest, WhatIsLeftToItWhileThereAreNoThreadsIsClosedWhenThereAre) {
  Refused({SYS_clone3}, EAGAIN, [] {
    ASSERT_TRUE(Refuse({SYS_clone}, EAGAIN));  // before glibc 2.34
    for (int i = 0; i < 64; ++i) Closer::Get().Close(UniqueFd(eventfd(0, EFD_CLOEXEC)));
  });
  while (!Closer::Get().HasSpace()) std::this_thread::yield();
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

// Who writes without end would keep one who reads before it closes.
TEST(CloserTest, WhatStrangersMayWriteIntoIsClosedUnread) {
  std::array<int, 2> ends;
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const UniqueFd strangers(ends[0]);
  const UniqueFd also_open(dup(ends[1]));
  ASSERT_EQ(send(strangers.get(), "unread", 6, 0), 6);
  Closer::Get().Close(UniqueFd(ends[1]));
  while (fcntl(ends[1], F_GETFD) >= 0) std::this_thread::yield();
  char bytes[8];
  EXPECT_EQ(recv(also_open.get(), bytes, sizeof(bytes), MSG_DONTWAIT), 6);
}

}  // namespace
}  // namespace skein
