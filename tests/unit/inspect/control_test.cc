// A process asked by itself: what it answers, to whom, and what is said of one that does not.
#include "core/inspect/control.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/abstract_socket.h"
#include "core/base/printable.h"
#include "core/inspect/attachment.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/idle_process.h"
#include "tests/support/lingering.h"
#include "tests/unit/channel_shm/another_user.h"
#include "tests/unit/inspect/answering.h"

namespace skein::inspect {
namespace {

using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

// What process `of` answers to a question of the calling thread's user, all checks of our own left out.
std::string RawAnswer(pid_t of, absl::string_view question) {
  const absl::StatusOr<UniqueFd> socket = ConnectAbstract(ControlName(of, 0));
  if (!socket.ok()) return socket.status().ToString();
  send(socket->get(), question.data(), question.size(), MSG_NOSIGNAL);
  pollfd waited = {socket->get(), POLLIN, 0};
  poll(&waited, 1, 10000);
  std::string answer(256, '\0');
  answer.resize(std::max<ssize_t>(recv(socket->get(), answer.data(), answer.size(), MSG_DONTWAIT), 0));
  return answer;
}

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
  const IdleProcess other;
  EXPECT_EQ(Ask(other.pid(), "echo").status().code(), absl::StatusCode::kUnavailable) << "it has no Skein";
}

// Who connects and says nothing, or does not hear the answer, holds the others up for a moment only.
TEST_F(ControlTest, OutlivesWhoDoesNotGoOn) {
  const absl::StatusOr<UniqueFd> silent = ConnectAbstract(ControlName(getpid(), 0));
  const absl::StatusOr<UniqueFd> deaf = ConnectAbstract(ControlName(getpid(), 0));
  ASSERT_TRUE(silent.ok() && deaf.ok());
  ASSERT_EQ(send(deaf->get(), "long", 4, MSG_NOSIGNAL), 4);
  EXPECT_EQ(*Ask(getpid(), "echo still"), "still");
}

TEST_F(ControlTest, TellsAnotherUserNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  EXPECT_THAT(RawAnswer(getpid(), "echo secret"), EndsWith(" ok 6\nsecret"));
  std::string answer;
  AsAnotherUser([&] { answer = RawAnswer(getpid(), "echo secret"); });
  EXPECT_THAT(answer, HasSubstr("PERMISSION_DENIED"));
  EXPECT_THAT(answer, Not(HasSubstr("secret")));
}

// Half a second for each would be more than Ask waits.
TEST_F(ControlTest, SilentConnectionsOfAnotherUserHoldNobodyUp) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  std::vector<absl::StatusOr<UniqueFd>> silent;
  AsAnotherUser([&] {
    for (int i = 0; i < 20; ++i) silent.push_back(ConnectAbstract(ControlName(getpid(), 0)));
  });
  ASSERT_EQ(silent.size(), 20U);
  for (const absl::StatusOr<UniqueFd>& each : silent) ASSERT_TRUE(each.ok()) << each.status();
  const absl::StatusOr<std::string> answer = Ask(getpid(), "echo still");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(*answer, "still");
}

TEST_F(ControlTest, ASocketThatLingersOfAnotherUserHoldsNobodyUp) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  Lingering lingering;
  ASSERT_TRUE(lingering.end.valid());
  AsAnotherUser([&] {
    bool passed = false;
    for (int i = 0; !passed && i < 10'000; ++i) {  // who asks is refused at once, mostly before
      const absl::StatusOr<UniqueFd> socket = ConnectAbstract(ControlName(getpid(), 0));
      passed = socket.ok() && lingering.Pass(socket->get());
    }
    EXPECT_TRUE(passed);
  });
  const absl::StatusOr<std::string> answer = Ask(getpid(), "echo still");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(*answer, "still");
}

TEST_F(ControlTest, ASquatterOfAnotherUserIsNotAsked) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const IdleProcess other;
  absl::StatusOr<UniqueFd> listening = absl::UnknownError("");
  AsAnotherUser([&] { listening = ListenAbstract(ControlName(other.pid(), 0)); });
  ASSERT_TRUE(listening.ok()) << listening.status();
  const absl::Status status = Ask(other.pid(), "echo secret").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(status.message(), HasSubstr("listens in the name of"));
  const UniqueFd asked = AcceptQueued(listening->get());
  char question[kMaxQuestionBytes];
  EXPECT_EQ(recv(asked.get(), question, sizeof(question), MSG_DONTWAIT), 0) << "not even the question is said";
}

TEST_F(ControlTest, IsFoundAmongTheProcessesToAsk) {
  const IdleProcess other;
  EXPECT_THAT(ProcessesToAsk(), Contains(getpid()));
  EXPECT_THAT(ProcessesToAsk(), Not(Contains(other.pid())));
}

TEST_F(ControlTest, AnotherVersionIsNamed) {
  const IdleProcess other;
  const Answering answering(other.pid(), 0, "skein 99.0 ok\n");
  ASSERT_TRUE(answering.ok());
  const absl::Status status = Ask(other.pid(), "echo").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(IsMissed(status));
  EXPECT_THAT(status.message(), HasSubstr("runs Skein 99.0"));
}

// Each of its libraries counts: a process may have four.
TEST_F(ControlTest, AnAnswerIsBounded) {
  const IdleProcess other;
  const Answering one(other.pid(), 0, Ok("12\n45\n"));
  const Answering two(other.pid(), 1, Ok("\n"));
  ASSERT_TRUE(one.ok() && two.ok());
  const size_t bytes = 2 * Ok("").size() + 7;
  EXPECT_EQ(*Ask(other.pid(), "echo", {.bytes = bytes, .lines = 5}), "12\n45\n\n");
  for (const AnswerLimits& less : {AnswerLimits{.bytes = bytes - 1}, AnswerLimits{.lines = 4}}) {
    const absl::Status status = Ask(other.pid(), "echo", less).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_THAT(status.message(), HasSubstr("answers more than"));
  }
}

// It was killed, or has lost patience with a command that was stopped.
TEST_F(ControlTest, HalfAnAnswerIsNone) {
  const IdleProcess other;
  const std::string whole = Ok("shm 1\nshm 2\n");
  for (const std::string& said : {whole.substr(0, whole.size() - 6), whole.substr(0, whole.size() - 1), whole + "\n"}) {
    const Answering answering(other.pid(), 0, said);
    ASSERT_TRUE(answering.ok());
    const absl::Status status = Ask(other.pid(), "echo").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << said;
    EXPECT_THAT(status.message(), HasSubstr("ended as it answered"));
  }
}

// Each byte is in time, all of them are not.
TEST_F(ControlTest, WhoDripsIsNotWaitedForBeyondTheDeadline) {
  const IdleProcess other;
  const Answering dripping(other.pid(), 0, [](int fd) {
    while (Say(fd, "s")) absl::SleepFor(absl::Milliseconds(20));
  });
  ASSERT_TRUE(dripping.ok());
  const absl::Status status = Ask(other.pid(), "echo", {.end = After(absl::Milliseconds(200))}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
}

// Words of a process that is not trusted, on a terminal that is.
TEST_F(ControlTest, WordsOfAProcessMoveNoCursor) {
  const IdleProcess other;
  for (const char* answer : {" PERMISSION_DENIED \x1b[2Jrun 'this'\xff\n", ".\x1b[2J ok\n", " \x1b[2J\n"}) {
    const Answering answering(other.pid(), 0, absl::StrCat("skein ", Version(), answer));
    ASSERT_TRUE(answering.ok());
    const std::string message(Ask(other.pid(), "echo").status().message());
    EXPECT_THAT(message, HasSubstr("?[2J"));
    EXPECT_EQ(message, Printable(message));
  }
  const Answering answering(other.pid(), 0, absl::StrCat("skein ", Version(), " NOT_FOUND no 'dance'\n"));
  EXPECT_EQ(Ask(other.pid(), "echo").status().message(), "no 'dance'");
}

}  // namespace
}  // namespace skein::inspect
