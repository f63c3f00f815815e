// A process asked by itself: what it answers, to whom, and what is said of one that does not.
#include "core/inspect/control.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "core/base/abstract_socket.h"
#include "core/inspect/attachment.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein::inspect {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class ControlTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    Handle("echo", [](absl::string_view argument) { return std::string(argument); });
    Handle("long", [](absl::string_view) { return std::string(size_t{1} << 20, 'x'); });
    Handle("fail", [](absl::string_view) -> absl::StatusOr<std::string> { return absl::OutOfRangeError("too much"); });
    ASSERT_TRUE(Listening().ok()) << Listening();
  }
};

TEST_F(ControlTest, AnswersOneQuestionAfterTheOther) {
  EXPECT_EQ(*Ask(getpid(), "echo a b"), "a b");
  EXPECT_EQ(*Ask(getpid(), "echo"), "");
  EXPECT_EQ(*Ask(getpid(), "long"), std::string(size_t{1} << 20, 'x'));
}

TEST_F(ControlTest, SaysWhatIsWrong) {
  EXPECT_THAT(Ask(getpid(), "dance").status().message(), HasSubstr("no 'dance'"));
  EXPECT_THAT(Ask(getpid(), "fail").status().message(), HasSubstr("too much"));
  EXPECT_THAT(Ask(getpid(), std::string(1000, 'x')).status().message(), HasSubstr("no 'xxx"));
}

TEST_F(ControlTest, ThereIsNoSuchProcess) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(Ask(child, "echo").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Ask(getppid(), "echo").status().code(), absl::StatusCode::kUnavailable) << "it has no Skein";
}

// Who connects and says nothing, or does not hear the answer, holds the others up for a moment only.
TEST_F(ControlTest, OutlivesWhoDoesNotGoOn) {
  const absl::StatusOr<UniqueFd> silent = ConnectAbstract(ControlName(getpid(), 0));
  const absl::StatusOr<UniqueFd> deaf = ConnectAbstract(ControlName(getpid(), 0));
  ASSERT_TRUE(silent.ok() && deaf.ok());
  ASSERT_EQ(send(deaf->get(), "long", 4, MSG_NOSIGNAL), 4);
  EXPECT_EQ(*Ask(getpid(), "echo still"), "still");
}

TEST_F(ControlTest, IsFoundAmongTheProcessesToAsk) {
  EXPECT_THAT(ProcessesToAsk(), Contains(getpid()));
  EXPECT_THAT(ProcessesToAsk(), Not(Contains(getppid())));
}

// A listener as of another version, in another process's name.
TEST_F(ControlTest, AnotherVersionIsNamed) {
  const absl::StatusOr<UniqueFd> listening = ListenAbstract(ControlName(getppid(), 0));
  ASSERT_TRUE(listening.ok()) << listening.status();
  std::thread other([&] {
    UniqueFd asked;
    while (!asked.valid()) asked = AcceptQueued(listening->get());
    char question[kMaxQuestionBytes];
    while (recv(asked.get(), question, sizeof(question), 0) < 0) std::this_thread::yield();
    const std::string answer = "skein 99.0 ok\n";
    send(asked.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
  });
  const absl::Status status = Ask(getppid(), "echo").status();
  other.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("runs Skein 99.0"));
}

}  // namespace
}  // namespace skein::inspect
