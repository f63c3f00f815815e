#include "tools/skein/watched_processes.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// A process that does nothing until it is killed.
class Idle {
 public:
  Idle() : pid_(fork()) {
    if (pid_ == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (pid_ == 0) pause();
  }
  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;
  ~Idle() { End(); }

  pid_t pid() const { return pid_; }
  void End() {
    if (ended_) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    ended_ = true;
  }

 private:
  const pid_t pid_;
  bool ended_ = false;
};

TEST(WatchedProcessesTest, LiveUntilTheyEnd) {
  Idle first;
  Idle second;
  const absl::StatusOr<WatchedProcesses> watched = WatchedProcesses::Open({second.pid(), first.pid(), first.pid()});
  ASSERT_TRUE(watched.ok()) << watched.status();
  EXPECT_THAT(watched->Living(), UnorderedElementsAre(first.pid(), second.pid()));
  first.End();
  EXPECT_THAT(watched->Living(), ElementsAre(second.pid()));
  second.End();
  EXPECT_THAT(watched->Living(), IsEmpty());
}

TEST(WatchedProcessesTest, AWaitEndsWithAProcessOrWhenThereIsSomethingToRead) {
  Idle process;
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
  Idle process;
  process.End();
  const absl::Status status = WatchedProcesses::Open({getpid(), process.pid()}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("there is no process"));
}

}  // namespace
}  // namespace skein
