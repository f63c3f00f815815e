#include "core/base/descriptors_left.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <vector>

#include "core/base/unique_fd.h"
#include "gtest/gtest.h"
#include "tests/support/refused_call.h"

namespace skein {
namespace {

TEST(DescriptorsLeftTest, CountsThoseThatAreFreeBelowTheLimit) {
  const int lowest = UniqueFd(dup(0)).get();  // closed again: others above it may be open
  ASSERT_GE(lowest, 0);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlim_t five_more = static_cast<rlim_t>(lowest) + 5;
  const rlimit tight = {five_more, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  EXPECT_TRUE(DescriptorsLeft(5));
  EXPECT_FALSE(DescriptorsLeft(6));
  const rlimit none = {five_more - 5, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_FALSE(DescriptorsLeft(1));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(DescriptorsLeftTest, SeesThoseThatAreOpenAboveTheLowestThatIsFree) {
  constexpr int kAboveAll = 100;  // that are open
  std::vector<UniqueFd> gaps;
  while (gaps.empty() || gaps.back().get() < kAboveAll) gaps.emplace_back(dup(0));
  const int lowest = gaps.back().get() + 1;
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  std::vector<UniqueFd> above;
  for (int fd = lowest + 2; fd < lowest + 8; ++fd) above.emplace_back(fcntl(0, F_DUPFD, fd));
  const rlimit tight = {static_cast<rlim_t>(lowest) + 8, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  EXPECT_FALSE(DescriptorsLeft(5));
  above.resize(3);
  EXPECT_TRUE(DescriptorsLeft(5));
  EXPECT_FALSE(DescriptorsLeft(6));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

// Another thread may need the last one at this moment; gRPC ends the process where it finds none.
TEST(DescriptorsLeftTest, TakesNoneToFindOut) {
  std::thread([] {
    for (const int opens : {SYS_eventfd2, SYS_dup, SYS_openat, SYS_pipe2}) ASSERT_TRUE(Refuse({opens}, EMFILE));
    EXPECT_TRUE(DescriptorsLeft(1));
  }).join();
}

// The newest of a process that once had many open have the highest numbers.
TEST(DescriptorsLeftTest, SeesThoseThatAreFreeFarBelowTheHighest) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  if (before.rlim_max < 1024) GTEST_SKIP() << "the hard limit is too low";
  const rlimit tight = {1024, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  std::vector<UniqueFd> highest;
  for (int fd = 600; fd < 1024; ++fd) highest.emplace_back(fcntl(0, F_DUPFD, fd));
  EXPECT_TRUE(DescriptorsLeft(200));
  EXPECT_FALSE(DescriptorsLeft(601));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

// A sandbox that refuses poll() says nothing of descriptors.
TEST(DescriptorsLeftTest, ARefusalIsNotTakenForALimit) {
  std::thread([] {
    ASSERT_TRUE(Refuse({SYS_poll}, EPERM));
    EXPECT_TRUE(DescriptorsLeft(1));
  }).join();
}

}  // namespace
}  // namespace skein
