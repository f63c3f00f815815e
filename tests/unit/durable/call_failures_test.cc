// What durable calls do when the log fails, a service ends under load, or a client was away for too long.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/durable/calls_fixture.h"

namespace skein::durable {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class CallFailuresTest : public CallsTest {
 protected:
  // By a client of its own each, whose reply is nobody's any more.
  void PersistCallsOfManyClients(int clients) {
    for (int i = 0; i < clients; ++i) {
      Outbox client{{}};
      const Cable cable(client, *service_);
      ASSERT_TRUE(StartCall(client, "call")->level.get().ok());
    }
  }
};

TEST_F(CallFailuresTest, NothingIsExecutedByALogThatCannotSaySo) {
  options_.ledger.clients = 50;
  Open();
  PersistCallsOfManyClients(50);
  faults_->fail_write = 1;
  service_->Start();
  while (service_->health().ok()) std::this_thread::yield();
  service_->Stop();
  EXPECT_LE(executed().size(), static_cast<size_t>(options_.threads)) << "those that were under way";
  const size_t before = executed().size();
  Crash();
  Open();
  service_->Start();
  while (service_->load().unfinished > 0) std::this_thread::yield();
  EXPECT_THAT(executed(), SizeIs(50 + before));
}

TEST_F(CallFailuresTest, ARequestThatCannotBeReadIsTheEndOfTheLog) {
  Open();
  Connect();
  const auto one = StartCall(outbox_, "one");
  ASSERT_TRUE(one->level.get().ok());
  faults_->fail_read = 1;
  service_->Start();
  const absl::Status why = cable_->WhyEnded();
  EXPECT_TRUE(absl::IsResourceExhausted(why)) << why;
  EXPECT_THAT(why.message(), HasSubstr("input/output error"));
  Reconnect();
  EXPECT_TRUE(absl::IsResourceExhausted(cable_->WhyEnded())) << "nothing more is acknowledged";
  Crash();
  Open();
  service_->Start();
  Connect();
  EXPECT_EQ(one->reply.get().value(), "did one");
}

// Nothing is executed here: no executor finds out and tells.
TEST_F(CallFailuresTest, AFailureThatOneClientsCallFindsIsToldToAll) {
  Open();
  Connect();
  const auto safe = StartCall(outbox_, "safe");
  ASSERT_TRUE(safe->level.get().ok());
  faults_->fail_write = 1;
  Outbox other{{}};
  const Cable cable(other, *service_);
  EXPECT_TRUE(absl::IsResourceExhausted(StartCall(other, "another's")->reply.get().status()));
  EXPECT_TRUE(absl::IsResourceExhausted(cable_->WhyEnded()));
}

TEST_F(CallFailuresTest, AFailureWhileAClientIsGreetedIsToldToThatClient) {
  Open();
  Outbox other{{}};
  std::unique_ptr<Cable> cable;
  std::vector<ServerMessageKind> heard;
  bool ended = false;
  const auto session = service_->Connect(
      [&](const std::string& message) {
        heard.push_back(DecodeServerMessage(message)->kind);
        if (heard.size() > 1) return;
        faults_->fail_write = 1;
        cable = std::make_unique<Cable>(other, *service_);
        EXPECT_FALSE(StartCall(other, "another's")->reply.get().ok());
        while (service_->health().ok()) std::this_thread::yield();
      },
      [&] { ended = true; });
  ASSERT_TRUE(session->OnMessage(HelloMessage(ClientNumber(7), std::nullopt)).ok());
  EXPECT_THAT(heard, ElementsAre(ServerMessageKind::kStanding, ServerMessageKind::kRefused));
  EXPECT_TRUE(ended);
  session->Disconnected();
}

// Whether a call came before or after, it is answered or goes on with the next server; and nobody reads freed memory.
TEST_F(CallFailuresTest, AServiceMayStopUnderLoad) {
  for (int round = 0; round < 30; ++round) {
    Open();
    service_->Start();
    Connect();
    std::atomic<bool> enough = false;
    std::thread caller([&] {
      while (!enough)
        outbox_
            .Start(
                "call", [](const auto&) {}, [](const auto&) {})
            .IgnoreError();
    });
    while (service_->load().log_used == 0) std::this_thread::yield();
    std::thread other([this] { service_->Stop(); });
    service_->Stop();
    other.join();
    enough = true;
    caller.join();
    cable_.reset();
    service_.reset();
  }
  Open();
  service_->Start();
  Connect();
  while (outbox_.standing().unanswered > 0) std::this_thread::yield();
  const auto last = StartCall(outbox_, "last");
  EXPECT_EQ(last->reply.get().value(), "did last");
}

// Who asks for a reply is told no sooner than who waits for it.
TEST_F(CallFailuresTest, NobodyHearsAReplyThatTheStateHasNot) {
  options_.ledger.hold_outcomes = true;
  std::promise<void> finishing;
  std::promise<void> let_go;
  std::atomic<bool> has_it = false;
  options_.on_outcome = [&](const DurableOutcome&) {
    finishing.set_value();
    let_go.get_future().wait();
    has_it = true;
  };
  Open();
  std::promise<bool> told;  // the state had it
  std::atomic<int> replies = 0;
  const auto session = service_->Connect(
      [&](const std::string& message) {
        if (DecodeServerMessage(message)->kind == ServerMessageKind::kReply && replies++ == 0) told.set_value(has_it);
      },
      [] {});
  ASSERT_TRUE(session->OnMessage(HelloMessage(ClientNumber(7), std::nullopt)).ok());
  ASSERT_TRUE(session->OnMessage(CallMessage(1, 0, MakeRequest("one"))).ok());
  service_->Start();
  finishing.get_future().wait();
  EXPECT_TRUE(session->OnMessage(AskMessage(1)).ok());
  let_go.set_value();
  EXPECT_TRUE(told.get_future().get());
  EXPECT_EQ(replies, 1);
  session->Disconnected();
}

// Its state must be the same when it is made of the replies again.
TEST_F(CallFailuresTest, AReplyThatFindsNoRoomIsNotOfAStateThatIsMadeOfReplies) {
  options_.ledger.hold_outcomes = true;
  std::vector<uint64_t> seen;
  options_.on_outcome = [&seen](const DurableOutcome& outcome) { seen.push_back(outcome.sequence); };
  reply_bytes_ = 1500;
  Open(1 << 15);
  service_->Start();
  Connect();
  absl::StatusOr<std::string> reply;
  uint64_t replies = 0;
  do {
    reply = StartCall(outbox_, "much")->reply.get();
    replies += reply.ok();
    ASSERT_LT(replies, 100u);
  } while (reply.ok());
  EXPECT_TRUE(absl::IsResourceExhausted(reply.status())) << reply.status();
  EXPECT_THAT(reply.status().message(), HasSubstr("checkpoints"));
  EXPECT_THAT(seen, SizeIs(replies));
  Crash();
  Open();
  std::vector<uint64_t> again;
  ASSERT_TRUE(
      service_->ForEachOutcome(0, [&again](const DurableOutcome& outcome) { again.push_back(outcome.sequence); }).ok());
  EXPECT_EQ(again, seen);
}

TEST_F(CallFailuresTest, AReplyThatCannotBeReadIsNotOneThatWasForgotten) {
  Open();
  const auto call = ExecuteForNobody("one");
  faults_->fail_read = 1;
  Connect();
  const absl::Status why = call->reply.get().status();
  EXPECT_FALSE(absl::IsNotFound(why)) << why;
  EXPECT_THAT(why.message(), HasSubstr("executed; but its reply cannot be read: "));
}

// One that says what it likes.
class HostileCallsTest : public CallsTest {
 protected:
  void Greet() {
    session_ = service_->Connect(
        [this](const std::string& message) {
          const absl::StatusOr<ServerMessage> decoded = DecodeServerMessage(message);
          ASSERT_TRUE(decoded.ok()) << decoded.status();
          if (decoded->kind == ServerMessageKind::kRefused) refused_ = true;  // a Resume may follow at once
        },
        [] {});
    ASSERT_TRUE(session_->OnMessage(HelloMessage(ClientNumber(9), std::nullopt)).ok());
  }
  void TearDown() override { session_->Disconnected(); }

  std::shared_ptr<CallSession> session_;
  std::atomic<bool> refused_ = false;
};

TEST_F(HostileCallsTest, WhoRepeatsWhatFoundNoRoomBeforeThereIsIsCutOff) {
  Open(8192);
  Greet();
  uint64_t sequence = 0;
  while (!refused_)
    ASSERT_TRUE(session_->OnMessage(CallMessage(++sequence, 0, MakeRequest(std::string(500, 'x')))).ok());
  const std::string again = CallMessage(sequence, 0, MakeRequest("x"));
  // The first refusal is followed by a Resume, lest room that came meanwhile be missed.
  absl::Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) status = session_->OnMessage(again);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

TEST_F(HostileCallsTest, WhoCallsWithMoreThanStandingAllowsIsCutOff) {
  options_.largest_request = 100;
  Open();
  Greet();
  EXPECT_TRUE(session_->OnMessage(CallMessage(1, 0, MakeRequest(std::string(99, 'x')))).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(session_->OnMessage(CallMessage(2, 0, MakeRequest(std::string(100, 'x'))))));
}

class ForgottenTest : public CallsTest {
 protected:
  ForgottenTest() {
    options_.ledger.clients = 1;
    options_.ledger.now = [this] { return now_.load(); };
    OutboxOptions options;
    options.now = options_.ledger.now;
    client_ = std::make_unique<Outbox>(options);
  }
  // The call comes to the server and is executed; of all that the server says about it nothing comes back.
  std::shared_ptr<TestCall> CallAndHearNothing() {
    const std::shared_ptr<CallSession> session = service_->Connect([](const std::string&) {}, [] {});
    client_->Connected([&session](const std::string& message) { EXPECT_TRUE(session->OnMessage(message).ok()); });
    EXPECT_TRUE(client_->OnMessage(StandingMessage(Persistence::kEmulated, 0, 1000, absl::Hours(1))).ok());
    auto call = StartCall(*client_, "pay");
    while (service_->load().unfinished > 0 || executed().empty()) std::this_thread::yield();
    client_->Disconnected();
    session->Disconnected();
    return call;
  }
  void LetAnotherClientHaveItsPlace() {
    const Cable cable(outbox_, *service_);
    EXPECT_TRUE(StartCall(outbox_, "other")->reply.get().ok());
  }
  void ExpectNoPlaceForAnother() {
    Outbox another{{}};
    const Cable cable(another, *service_);
    const absl::Status status = StartCall(another, "another")->reply.get().status();
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("`clients`"));
  }
  void Pass(absl::Duration time) { now_ = now_.load() + time; }

  std::atomic<absl::Time> now_ = absl::UnixEpoch();
  std::unique_ptr<Outbox> client_;
};

TEST_F(ForgottenTest, ACallThatMayHaveBeenExecutedIsNotSentAnew) {
  options_.ledger.kept_for = absl::ZeroDuration();
  Open();
  service_->Start();
  const auto call = CallAndHearNothing();
  Pass(absl::Hours(1));
  LetAnotherClientHaveItsPlace();
  const auto later = StartCall(*client_, "later");  // was not sent
  Pass(absl::Hours(1));
  {
    Cable cable(*client_, *service_);
    EXPECT_TRUE(absl::IsAborted(cable.WhyEnded()));
  }
  EXPECT_EQ(call->reply.get().status().code(), absl::StatusCode::kUnknown);
  const Cable again(*client_, *service_);
  EXPECT_EQ(later->reply.get().value(), "did later");
  EXPECT_THAT(executed(), ElementsAre("pay", "other", "later"));
}

TEST_F(ForgottenTest, ACallThatCannotHaveBeenForgottenYetIsSentAgain) {
  Open();
  service_->Start();
  const auto call = CallAndHearNothing();
  Pass(absl::Minutes(59));
  const Cable cable(*client_, *service_);
  EXPECT_EQ(call->reply.get().value(), "did pay");
  EXPECT_THAT(executed(), ElementsAre("pay"));
}

TEST_F(ForgottenTest, WhoIsConnectedAndSilentIsNotForgotten) {
  options_.ledger.kept_for = absl::ZeroDuration();
  Open();
  service_->Start();
  {
    const Cable cable(*client_, *service_);
    EXPECT_EQ(StartCall(*client_, "one")->reply.get().value(), "did one");
    Pass(absl::Hours(2));
    ExpectNoPlaceForAnother();
    EXPECT_EQ(StartCall(*client_, "two")->reply.get().value(), "did two");
    Pass(absl::Hours(2));
  }
  Pass(absl::Minutes(59));
  ExpectNoPlaceForAnother();
  Pass(absl::Minutes(1));
  LetAnotherClientHaveItsPlace();
}

TEST_F(ForgottenTest, WhoFindsNoPlaceDoesNotWaitForOneUntilNothingIsUnfinished) {
  Open();
  HoldBack();
  service_->Start();
  const Cable cable(*client_, *service_);
  const auto call = StartCall(*client_, "one");
  EXPECT_TRUE(call->level.get().ok());
  ExpectNoPlaceForAnother();
  LetGo();
  EXPECT_EQ(call->reply.get().value(), "did one");
}

}  // namespace
}  // namespace skein::durable
