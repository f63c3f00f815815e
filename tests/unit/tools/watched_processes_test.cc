#include "tools/skein/watched_processes.h"

#include <unistd.h>

#include <csignal>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/idle_process.h"

namespace skein {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(WatchedProcessesTest, LiveUntilTheyEnd) {
  IdleProcess first;
  IdleProcess second;
  const absl::StatusOr<WatchedProcesses> watched = WatchedProcesses::Open({second.pid(), first.pid(), first.pid()});
  ASSERT_TRUE(watched.ok()) << watched.status();
  EXPECT_THAT(watched->Living(), UnorderedElementsAre(first.pid(), second.pid()));
  first.End();
  EXPECT_THAT(watched->Living(), ElementsAre(second.pid()));
  second.End();
  EXPECT_THAT(watched->Living(), IsEmpty());
}

TEST(WatchedProcessesTest, AWaitEndsWithAProcessOrWhenThereIsSomethingToRead) {
  IdleProcess process;
  const absl::StatusOr<WatchedProcesses> watched = WatchedProcesses::Open({process.pid()});
  ASSERT_TRUE(watched.ok()) << watched.status();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  EXPECT_TRUE(watched->WaitForEndOr(ends[0]));
  char read_again;
  ASSERT_EQ(read(ends[0], &read_again, 1), 1);
  kill(process.pid(), SIGKILL);
  EXPECT_FALSE(watched->WaitForEndOr(ends[0]));
  EXPECT_THAT(watched->Living(), IsEmpty());
  EXPECT_FALSE(watched->WaitForEndOr(ends[0])) << "and there is nothing more to wait for";
  close(ends[0]);
  close(ends[1]);
}

TEST(WatchedProcessesTest, OneThatIsNotThereIsSaid) {
  IdleProcess process;
  process.End();
  const absl::Status status = WatchedProcesses::Open({getpid(), process.pid()}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("there is no process"));
}

}  // namespace
}  // namespace skein
