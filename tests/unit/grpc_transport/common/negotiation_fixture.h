// A client's and a server's negotiation, over connections that are the test's.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_COMMON_NEGOTIATION_FIXTURE_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_COMMON_NEGOTIATION_FIXTURE_H_

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "gmock/gmock.h"
#include "grpc_transport/common/client_negotiation.h"
#include "grpc_transport/common/offer_bytes.h"
#include "grpc_transport/common/server_negotiation.h"
#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/common/fake_connection.h"
#include "tests/unit/stream/two_ends.h"

namespace skein::grpc_transport {

inline constexpr absl::string_view kHttp2Settings("\0\0\0\4\0\0\0\0\0", 9);
inline constexpr absl::string_view kTlsAlert("\x15\3\3\0\2\2\x28", 7);

inline Options Asking(Mode mode = Mode::kPrefer) {
  Options options;
  options.mode = mode;
  return options;
}

class NegotiationTest : public testing::Test {
 protected:
  void StartClient(absl::StatusOr<Options> options = Asking(), bool behind_proxy = false) {
    client_ = std::make_unique<ClientNegotiation>(std::move(options), "ipv4:127.0.0.1:1", behind_proxy,
                                                  client_connection_, process_);
    client_->Start();
  }
  // The offer is on its way, and the answer is read.
  void Ask() {
    StartClient();
    client_->OnWritten(absl::OkStatus());
    ASSERT_TRUE(client_connection_.reading);
  }
  void StartServer(absl::StatusOr<Options> options = Asking()) {
    server_ = std::make_unique<ServerNegotiation>(std::move(options), server_connection_, process_);
    server_->Start();
  }
  template <typename Negotiation>
  static void Arrive(Negotiation& negotiation, FakeConnection& connection, absl::string_view bytes) {
    ASSERT_TRUE(std::exchange(connection.reading, false));
    connection.arrived = std::string(bytes);
    negotiation.OnRead(absl::OkStatus());
  }
  void AnswerWith(absl::string_view bytes) { Arrive(*client_, client_connection_, bytes); }
  void OfferWith(absl::string_view bytes) { Arrive(*server_, server_connection_, bytes); }

  // Why TCP goes on, as it is listed last.
  static std::string Why() {
    const auto paths = inspect::LivePaths::Get().List();
    return paths.empty() ? "nothing is listed" : paths.back().why;
  }
  static void ExpectTcp(const FakeConnection& connection, FallbackCode why, int settings_frames) {
    ASSERT_TRUE(connection.end.has_value());
    EXPECT_TRUE(connection.end->failed.ok()) << connection.end->failed;
    EXPECT_EQ(connection.end->stream, nullptr);
    EXPECT_EQ(connection.end->settings_frames, settings_frames);
    EXPECT_THAT(Why(), testing::StartsWith(FallbackCodeName(why)));
  }
  static void ExpectFailure(const FakeConnection& connection, absl::string_view words) {
    ASSERT_TRUE(connection.end.has_value());
    EXPECT_TRUE(absl::IsUnavailable(connection.end->failed)) << connection.end->failed;
    EXPECT_THAT(std::string(connection.end->failed.message()), testing::HasSubstr(std::string(words)));
  }
  // 0: `holds` is true in a child made by fork().
  static int StatusOfChild(absl::FunctionRef<bool()> holds) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      _exit(holds() ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
  }
  int frames() const {
    return SettingsFramesOf(ParseHttp2(client_connection_.written, connect::kMaxOfferBytes).payload);
  }

  stream::ManualWaiter waiter_;
  ProcessState process_{{}, &waiter_};
  FakeConnection client_connection_;
  FakeConnection server_connection_;
  std::unique_ptr<ClientNegotiation> client_;
  std::unique_ptr<ServerNegotiation> server_;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_COMMON_NEGOTIATION_FIXTURE_H_
