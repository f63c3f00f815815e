// The table of ends (grpc_transport/README.md, "Every way it ends"): a server's.
#include "grpc_transport/common/server_negotiation.h"

#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/common/negotiation_fixture.h"

namespace skein::grpc_transport {
namespace {

class ServerNegotiationTest : public NegotiationTest {};

TEST_F(ServerNegotiationTest, AnAnswerThatIsWrittenWhileItIsShutDownFails) {
  Ask();
  StartServer();
  OfferWith(client_connection_.written);
  {
    MutexLock lock(&server_connection_.mu);
    ASSERT_TRUE(server_->ShutDown());
    server_->EndWaits();
  }
  server_->OnWritten(absl::OkStatus());
  ExpectFailure(server_connection_, "shut down");
}

TEST_F(ServerNegotiationTest, AClientWithoutSkeinKeepsItsBytes) {
  StartServer();
  const std::string bytes = absl::StrCat(kHttp2Preface, kHttp2Settings);
  OfferWith(bytes);
  ExpectTcp(server_connection_, FallbackCode::kNoOffer, 0);
  EXPECT_EQ(server_connection_.received, bytes);
}

TEST_F(ServerNegotiationTest, ItWaitsUntilItIsCertain) {
  StartServer();
  OfferWith("PRI * HT");
  EXPECT_FALSE(server_connection_.end.has_value());
  OfferWith("TX");
  ExpectTcp(server_connection_, FallbackCode::kNoOffer, 0);
}

TEST_F(ServerNegotiationTest, ASilentClientIsLeftToHttp2) {
  StartServer();
  EXPECT_EQ(server_connection_.timer, absl::Seconds(10)) << "gRPC 1.51's client may be 5 s late";
  server_->OnTimer();
  ExpectTcp(server_connection_, FallbackCode::kTimeout, 0);
}

TEST_F(ServerNegotiationTest, ItWaitsLongerIfItIsToldTo) {
  Options patient = Asking();
  patient.negotiation_timeout = absl::Seconds(60);
  StartServer(patient);
  EXPECT_EQ(server_connection_.timer, absl::Seconds(60));
}

// On a stream the client would wait for HTTP/2's first words, and the server for TLS's.
TEST_F(ServerNegotiationTest, AnOfferForPlaintextIsLeftToTlsWhichRefusesIt) {
  Ask();
  server_connection_.secure = true;
  StartServer();
  OfferWith(client_connection_.written);
  ExpectTcp(server_connection_, FallbackCode::kNoOffer, 0);
  EXPECT_EQ(server_connection_.received, client_connection_.written);
  EXPECT_TRUE(server_connection_.written.empty());
}

TEST_F(ServerNegotiationTest, ABrokenOfferFails) {
  StartServer();
  OfferWith(absl::string_view("\xA5SKN\x07\0\0", 7));
  ExpectFailure(server_connection_, "malformed");
}

TEST_F(ServerNegotiationTest, AClientThatDidNotWaitGoesOnWithHttp2) {
  Ask();
  StartServer();
  OfferWith(client_connection_.written + std::string(kHttp2Settings));
  ExpectTcp(server_connection_, FallbackCode::kTimeout, 0);
}

TEST_F(ServerNegotiationTest, AClientThatDoesNotWaitUnderTlsFails) {
  client_connection_.secure = true;
  Ask();
  StartServer();
  OfferWith(client_connection_.written + "more");
  ExpectFailure(server_connection_, "did not wait");
}

TEST_F(ServerNegotiationTest, AForkedChildLeavesWhatItsParentHasAgreedToAlone) {
  Ask();
  StartServer();
  OfferWith(client_connection_.written);
  const int status = StatusOfChild([&] {
    server_->OnWritten(absl::OkStatus());
    const bool failed = server_connection_.end.has_value() && !server_connection_.end->failed.ok();
    server_ = nullptr;
    return failed;
  });
  EXPECT_EQ(status, 0);
  server_->OnWritten(absl::OkStatus());
  ASSERT_TRUE(server_connection_.end.has_value());
  EXPECT_NE(server_connection_.end->stream, nullptr) << "the parent is unharmed";
}

TEST_F(ServerNegotiationTest, AForkedChildAnswersNoAndGoesOnWithHttp2) {
  Ask();
  const int status = StatusOfChild([&] {
    StartServer();
    OfferWith(client_connection_.written);
    server_->OnWritten(absl::OkStatus());
    return server_connection_.end.has_value() && server_connection_.end->failed.ok() &&
           server_connection_.end->stream == nullptr;
  });
  EXPECT_EQ(status, 0);
}

TEST_F(ServerNegotiationTest, AConnectionThatEndsFails) {
  StartServer();
  server_->OnRead(absl::UnavailableError("ended"));
  ExpectFailure(server_connection_, "ended");
}

TEST_F(ServerNegotiationTest, LateCallbacksFindNothingToDo) {
  StartServer();
  OfferWith("other");
  ASSERT_TRUE(server_connection_.end.has_value());
  server_connection_.end.reset();
  server_->OnTimer();
  server_->OnRead(absl::OkStatus());
  server_->OnWritten(absl::OkStatus());
  EXPECT_FALSE(server_connection_.end.has_value());
}

}  // namespace
}  // namespace skein::grpc_transport
