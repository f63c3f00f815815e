// A client's machine is suspended, and its server's is not.
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "core/durable/calls/outbox.h"
#include "gtest/gtest.h"

namespace skein::durable {
namespace {

// What the clocks of this process say after two hours of that. False: only root may.
bool Suspend() {
  if (unshare(CLONE_NEWTIME) != 0) return false;
  std::ofstream("/proc/self/timens_offsets") << "boottime 7200 0" << std::flush;
  return setns(open("/proc/self/ns/time_for_children", O_RDONLY | O_CLOEXEC), CLONE_NEWTIME) == 0;
}

enum Outcome : uint8_t { kGivenUp, kSentAgain, kNotPermitted };

Outcome WakeUpBesideAServerThatKnowsNothing() {
  const std::string standing = StandingMessage(Persistence::kEmulated, 0, 1000, absl::Hours(1));
  Outbox outbox{{}};
  outbox.Connected([](const std::string&) {});
  if (!outbox.OnMessage(standing).ok() || !outbox.Start("pay", nullptr, nullptr).ok()) return kSentAgain;
  outbox.Disconnected();
  if (!Suspend()) return kNotPermitted;
  outbox.Connected([](const std::string&) {});
  return absl::IsAborted(outbox.OnMessage(standing)) ? kGivenUp : kSentAgain;
}

TEST(SuspendedTest, ACallThatMayHaveBeenExecutedMeanwhileIsNotSentAgain) {
  const pid_t child = fork();
  if (child == 0) _exit(WakeUpBesideAServerThatKnowsNothing());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNotPermitted) GTEST_SKIP() << "no time namespace to be had";
  EXPECT_EQ(WEXITSTATUS(status), kGivenUp);
}

}  // namespace
}  // namespace skein::durable
