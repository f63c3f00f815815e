// The table of ends (grpc_transport/README.md, "Every way it ends"), a row or more each, without gRPC: what both ends
// agree on, and a client's.
#include "grpc_transport/common/negotiation.h"

#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "grpc_transport/common/log.h"
#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/common/negotiation_fixture.h"

namespace skein::grpc_transport {
namespace {

using testing::MatchesRegex;
using testing::StartsWith;

class ClientNegotiationTest : public NegotiationTest {};

TEST_F(NegotiationTest, BothEndsAgreeOnAStream) {
  Ask();
  StartServer();
  OfferWith(client_connection_.written);
  ASSERT_FALSE(server_connection_.end.has_value()) << "the answer is still being written";
  server_->OnWritten(absl::OkStatus());
  ASSERT_TRUE(server_connection_.end.has_value());
  EXPECT_NE(server_connection_.end->stream, nullptr) << server_connection_.end->failed << Why();
  EXPECT_TRUE(server_connection_.received.empty()) << "HTTP/2 begins on the stream";
  AnswerWith(server_connection_.written);
  ASSERT_TRUE(client_connection_.end.has_value());
  EXPECT_NE(client_connection_.end->stream, nullptr);
  EXPECT_TRUE(client_connection_.end->on_lost != nullptr);
}

TEST_F(NegotiationTest, EachStepIsToldToThoseWhoTraceIt) {
  static std::string* told = nullptr;
  std::string lines;
  told = &lines;
  SetLogWriter([](Severity, const char* line) { absl::StrAppend(told, line, "\n"); });
  setenv("GRPC_TRACE", "skein", /*overwrite=*/1);
  Ask();
  StartServer();
  unsetenv("GRPC_TRACE");
  OfferWith(client_connection_.written);
  server_->OnWritten(absl::OkStatus());
  AnswerWith(server_connection_.written);
  SetLogWriter(nullptr);
  EXPECT_THAT(lines, MatchesRegex("skein: client peer: begins\n"
                                  "skein: client peer: offers: hidden in HTTP/2\n"
                                  "skein: client peer: has written: OK\n"
                                  "skein: server peer: begins\n"
                                  "skein: server peer: reads: OK\n"
                                  "skein: server peer: answers: shm\n"
                                  "skein: server peer: has written: OK\n"
                                  "skein: server peer uses shm\n"
                                  "skein: server peer: has negotiated: shm\n"
                                  "skein: client peer: reads: OK\n"
                                  "skein: client peer: is answered: shm\n"
                                  "skein: client peer uses shm\n"
                                  "skein: client peer: has negotiated: shm\n"));
}

TEST(LogTest, TracesAreAskedForAsGrpcReadsThem) {
  for (const absl::string_view asks : {"skein", "tcp,skein", "all", "-all,skein", "-skein,all"}) {
    EXPECT_TRUE(AsksForTrace(asks)) << asks;
  }
  for (const absl::string_view does_not : {"", "tcp", "all,-skein", "skein,-all", "skeins", " skein"}) {
    EXPECT_FALSE(AsksForTrace(does_not)) << does_not;
  }
}

TEST_F(NegotiationTest, SoTheyDoUnderTls) {
  client_connection_.secure = server_connection_.secure = true;
  Ask();
  EXPECT_THAT(client_connection_.written, StartsWith("\xA5SKN"));
  StartServer();
  OfferWith(client_connection_.written);
  server_->OnWritten(absl::OkStatus());
  AnswerWith(server_connection_.written);
  ASSERT_TRUE(client_connection_.end.has_value());
  EXPECT_NE(client_connection_.end->stream, nullptr);
}

TEST_F(NegotiationTest, ANoGoesOnWithHttp2OnTheSameConnection) {
  Ask();
  Options off = Asking();
  off.shm.enabled = false;
  StartServer(off);
  OfferWith(client_connection_.written);
  server_->OnWritten(absl::OkStatus());
  ASSERT_TRUE(server_connection_.end.has_value());
  EXPECT_EQ(server_connection_.end->stream, nullptr);
  EXPECT_EQ(server_connection_.received, client_connection_.written) << "the offer is HTTP/2's beginning";
  const int offered_in = frames();
  AnswerWith(server_connection_.written);
  ASSERT_TRUE(client_connection_.end.has_value());
  EXPECT_EQ(client_connection_.end->settings_frames, offered_in);
  EXPECT_FALSE(client_connection_.reconnects);
}

TEST_F(ClientNegotiationTest, AnOrdinaryServerKeepsItsConnectionAndItsBytes) {
  Ask();
  const int offered_in = frames();
  EXPECT_GT(offered_in, 0);
  AnswerWith(kHttp2Settings);
  ExpectTcp(client_connection_, FallbackCode::kPeerNotSkein, offered_in);
  EXPECT_EQ(client_connection_.received, kHttp2Settings);
}

TEST_F(ClientNegotiationTest, AnOrdinaryTlsServerGetsANewConnectionAndIsRemembered) {
  client_connection_.secure = true;
  Ask();
  AnswerWith(kTlsAlert);
  ASSERT_TRUE(client_connection_.reconnects);
  client_->OnReconnected(absl::OkStatus());
  ExpectTcp(client_connection_, FallbackCode::kPeerNotSkein, 0);
  client_connection_.end.reset();
  StartClient();
  ExpectTcp(client_connection_, FallbackCode::kNegativeCache, 0);
  EXPECT_TRUE(client_connection_.written.empty());
}

TEST_F(ClientNegotiationTest, AServerThatTakesNoConnectionIsNotRemembered) {
  client_connection_.secure = true;
  Ask();
  client_->OnRead(absl::UnavailableError("reset"));
  client_->OnReconnected(absl::UnavailableError("refused"));
  ExpectFailure(client_connection_, "refused");
  client_connection_.end.reset();
  StartClient();
  EXPECT_FALSE(client_connection_.end.has_value()) << "it asks again";
}

TEST_F(ClientNegotiationTest, AServerThatAnswersNothingGetsANewConnection) {
  Ask();
  client_->OnTimer();
  ASSERT_TRUE(client_connection_.reconnects);
  client_->OnReconnected(absl::OkStatus());
  ExpectTcp(client_connection_, FallbackCode::kTimeout, 0);
}

TEST_F(ClientNegotiationTest, ATimerBetweenTwoStepsIsSeenByTheNext) {
  Ask();
  client_connection_.reading = false;  // its callback is on its way
  client_->OnTimer();
  EXPECT_FALSE(client_connection_.reconnects);
  client_connection_.arrived = "\xA5";  // not decided
  client_->OnRead(absl::OkStatus());
  EXPECT_TRUE(client_connection_.reconnects);
}

TEST_F(ClientNegotiationTest, ALostConnectionIsMadeAgainOnceAnOfferWasWritten) {
  Ask();
  client_->OnRead(absl::UnavailableError("reset"));
  ASSERT_TRUE(client_connection_.reconnects);
  client_->OnReconnected(absl::OkStatus());
  ExpectTcp(client_connection_, FallbackCode::kPeerNotSkein, 0);
}

TEST_F(ClientNegotiationTest, AConnectionThatIsLostBeforeFails) {
  StartClient();
  client_->OnWritten(absl::UnavailableError("never made"));
  ExpectFailure(client_connection_, "never made");
}

TEST_F(ClientNegotiationTest, AMalformedAnswerEndsTheConnection) {
  Ask();
  AnswerWith(absl::string_view("\xA5SKN\x07\0\0", 7));
  ASSERT_TRUE(client_connection_.reconnects);
  client_->OnReconnected(absl::OkStatus());
  ExpectTcp(client_connection_, FallbackCode::kProtocol, 0);
}

TEST_F(ClientNegotiationTest, BytesBehindAYesFailTheConnection) {
  Ask();
  StartServer();
  OfferWith(client_connection_.written);
  AnswerWith(server_connection_.written + "more");
  ExpectFailure(client_connection_, "more than its answer");
}

TEST_F(ClientNegotiationTest, NothingIsSentBehindAProxy) {
  StartClient(Asking(), /*behind_proxy=*/true);
  ExpectTcp(client_connection_, FallbackCode::kProxy, 0);
  EXPECT_TRUE(client_connection_.written.empty());
}

TEST_F(ClientNegotiationTest, NothingIsSentWhereLinksCannotBeWatched) {
  client_connection_.prevented = {FallbackCode::kPollingEngine, "poll"};
  StartClient();
  ExpectTcp(client_connection_, FallbackCode::kPollingEngine, 0);
  EXPECT_TRUE(client_connection_.written.empty());
}

TEST_F(ClientNegotiationTest, AWrongOptionFailsTheConnectionAndSaysSo) {
  StartClient(absl::InvalidArgumentError("skein.mode: perhaps"));
  ExpectFailure(client_connection_, "skein.mode: perhaps");
}

TEST_F(ClientNegotiationTest, RequireFailsWithTheReasonAndMakesNoOtherConnection) {
  StartClient(Asking(Mode::kRequire));
  client_->OnWritten(absl::OkStatus());
  AnswerWith(kHttp2Settings);
  ExpectFailure(client_connection_, FallbackCodeName(FallbackCode::kPeerNotSkein));
  EXPECT_FALSE(client_connection_.reconnects);
}

TEST_F(ClientNegotiationTest, AShutdownEndsAReconnection) {
  Ask();
  client_->OnTimer();
  ASSERT_TRUE(client_connection_.reconnects);
  {
    MutexLock lock(&client_connection_.mu);
    ASSERT_TRUE(client_->ShutDown());
    client_->EndWaits();
  }
  ExpectFailure(client_connection_, "shut down");
}

// Else it would begin to wait for what nobody wants any more, and blame the path when that does not come.
TEST_F(ClientNegotiationTest, AnAnswerOnItsWayWhileItIsShutDownFails) {
  Ask();
  StartServer();
  OfferWith(client_connection_.written);
  {
    MutexLock lock(&client_connection_.mu);
    ASSERT_TRUE(client_->ShutDown());
    client_->EndWaits();
  }
  AnswerWith(server_connection_.written);
  ExpectFailure(client_connection_, "shut down");
}

TEST_F(ClientNegotiationTest, AShutdownBeforeItsBeginningFails) {
  client_ = std::make_unique<ClientNegotiation>(Asking(), "", false, client_connection_, process_);
  {
    MutexLock lock(&client_connection_.mu);
    client_->ShutDown();
  }
  client_->Start();
  ExpectFailure(client_connection_, "shut down");
}

// A link that only its parent has, and locks that a thread of the parent's may hold.
TEST_F(ClientNegotiationTest, AForkedChildLeavesWhatItsParentHasOfferedAlone) {
  Ask();
  StartServer();
  OfferWith(client_connection_.written);
  const int status = StatusOfChild([&] {
    AnswerWith(server_connection_.written);
    const bool made_again = client_connection_.reconnects;
    client_->OnReconnected(absl::OkStatus());
    const bool tcp = client_connection_.end.has_value() && client_connection_.end->stream == nullptr;
    client_connection_.end.reset();
    client_ = nullptr;
    return made_again && tcp;
  });
  EXPECT_EQ(status, 0);
  AnswerWith(server_connection_.written);
  ASSERT_TRUE(client_connection_.end.has_value());
  EXPECT_NE(client_connection_.end->stream, nullptr) << "the parent is unharmed";
}

TEST_F(ClientNegotiationTest, WithoutAWayBackItFails) {
  client_connection_.no_way_back = Failure("no address");
  Ask();
  client_->OnTimer();
  ExpectFailure(client_connection_, "no address");
}

// Another thread of the parent has the connection's lock, of which the child has a copy.
TEST_F(NegotiationTest, AForkedChildDoesNotWaitForALockThatItsParentHeld) {
  BeginUse();
  Ask();
  absl::Notification held;
  absl::Notification over;
  std::thread other([&] {
    MutexLock lock(&client_connection_.mu);
    held.Notify();
    over.WaitForNotification();
  });
  held.WaitForNotification();
  EXPECT_EQ(StatusOfChild([&] {
              client_->OnRead(absl::UnavailableError("the end"));
              client_->OnWritten(absl::OkStatus());
              client_->OnTimer();
              client_->OnReached(absl::OkStatus());
              client_->OnReconnected(absl::OkStatus());
              return !client_connection_.end.has_value() && !client_connection_.reconnects;
            }),
            0);
  over.Notify();
  other.join();
  client_->OnTimer();
  EXPECT_TRUE(client_connection_.reconnects) << "the parent goes on";
}

}  // namespace
}  // namespace skein::grpc_transport
