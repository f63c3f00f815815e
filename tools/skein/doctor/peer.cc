#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/fallback.h"
#include "core/connect/host_fabrics.h"
#include "core/stream/connector.h"
#include "core/stream/host_streams.h"
#include "grpc_transport/common/offer_bytes.h"
#include "tools/skein/doctor/checks.h"
#include "tools/skein/doctor/polled_waiter.h"

namespace skein::doctor {
namespace {

using grpc_transport::Beginning;

constexpr absl::Duration kConnecting = absl::Seconds(5);
constexpr absl::Duration kGreeting = absl::Milliseconds(100);
constexpr absl::Duration kParting = absl::Seconds(1);  // what the peer gets to close its side

constexpr absl::string_view kOffHere = "the mode is off here: calls use it with SKEIN_GRPC, or skein.mode, prefer";
constexpr absl::string_view kTlsServer = "a TLS server cannot be asked so: add --tls";
constexpr absl::string_view kSwitchServer =
    "switch the server to Skein (SKEIN_GRPC=prefer and the preload library, or the server's argument skein.mode)";

// What a connection would use.
struct Path {
  std::string name = "tcp";
  Fallback why;        // not a better one
  std::string advice;  // what the reason does not say
};

class NullObserver final : public stream::StreamObserver {
  void OnReadable() override {}
  void OnWritable() override {}
};

class Question {
 public:
  Question(Connection connection, bool tls, const Options& options)
      : connection_(std::move(connection)), tls_(tls), patience_(options.negotiation_timeout) {
    connector_ = stream::CreateConnector(connect::CreateHostFabrics(options.shm, options.rdma),
                                         stream::StreamOptionsOf(options), &waiter_);
  }

  // What a client does until it would use the path, and then leaves.
  Path Ask() {
    absl::StatusOr<std::unique_ptr<stream::Connector::Attempt>> attempt =
        connector_->Begin(connect::RouteOf(connection_.fd()));
    if (!attempt.ok())
      return {"tcp", FallbackOf(attempt.status()), "nothing that could be offered: the peer was not asked"};
    const std::string offer((*attempt)->offer());
    const absl::Time deadline = absl::Now() + patience_;
    const absl::Status sent =
        connection_.Send(tls_ ? grpc_transport::Frame(offer) : grpc_transport::HideInHttp2(offer), deadline);
    if (!sent.ok()) return Lost(sent);
    const absl::StatusOr<Path> path = Hear(**attempt, deadline);
    attempt->reset();
    Leave();
    return path.ok() ? *path : Lost(path.status());
  }

 private:
  absl::StatusOr<Path> Hear(stream::Connector::Attempt& attempt, absl::Time deadline) {
    std::string bytes;
    grpc_transport::Parsed parsed;
    while (parsed.beginning == Beginning::kUndecided) {
      if (absl::Status status = connection_.Receive(bytes, deadline); !status.ok()) return status;
      parsed = grpc_transport::ParseFrame(bytes, connect::kMaxAnswerBytes);
    }
    if (parsed.beginning == Beginning::kMalformed) {
      return Path{"tcp", {FallbackCode::kProtocol, "the answer is malformed, or of another version"}, ""};
    }
    if (parsed.beginning == Beginning::kOther) return NotSkein(IsTls(bytes));
    return Judge(attempt.Complete(parsed.payload), deadline);
  }

  Path Judge(stream::Outcome outcome, absl::Time deadline) {
    if (outcome.stream == nullptr) return {"tcp", std::move(outcome.why), ""};
    Path path{outcome.stream->path(), std::move(outcome.why), ""};
    outcome.stream->SetObserver(std::make_shared<NullObserver>());
    const absl::Status reached = outcome.reached ? absl::OkStatus() : Reach(*outcome.stream, deadline);
    if (!reached.ok()) {
      return {"tcp",
              {FallbackCode::kNoRoute, absl::StrCat(path.name, ": ", reached.message())},
              "the peer has agreed, but no bytes get through: compare MTU, VLAN and firewall (UDP port 4791 for RoCE)"};
    }
    EndStream(*outcome.stream);
    return path;
  }

  absl::Status Reach(stream::Stream& stream, absl::Time deadline) {
    // Shared: it may still be called when this has given up.
    const auto result = std::make_shared<std::optional<absl::Status>>();
    stream.WhenReached([result](const absl::Status& status) { *result = status; });
    waiter_.RunUntil([&] { return result->has_value(); }, deadline);
    return result->value_or(absl::DeadlineExceededError("nothing arrived in time"));
  }

  // Leaves nothing for the server to say, for nobody there might poll what it could not say at once: its greeting
  // (HTTP/2 settings; under TLS there is none) is awaited, and to a stream that was aborted it has no last words.
  void EndStream(stream::Stream& stream) {
    const auto greeted = [&] {
      std::vector<stream::Buffer> greeting;
      return !stream.Read(1 << 16, greeting).ok() || !greeting.empty() || connection_.Readable();
    };
    waiter_.RunUntil(greeted, absl::Now() + kGreeting, connection_.fd());
    stream.Abort(absl::CancelledError("only a question"));
    waiter_.RunUntil([this] { return connection_.Readable(); }, absl::Now() + kParting, connection_.fd());
  }

  void Leave() {
    waiter_.RunUntil([this] { return waiter_.idle(); }, absl::Now() + kParting);
    connection_.Close(absl::Now() + kParting);
  }

  static bool IsTls(absl::string_view bytes) {  // an alert or a handshake record
    return bytes.size() >= 2 && (bytes[0] == 0x15 || bytes[0] == 0x16) && bytes[1] == 0x03;
  }

  Path NotSkein(bool maybe_tls) const {
    return {"tcp", {FallbackCode::kPeerNotSkein, {}}, std::string(maybe_tls && !tls_ ? kTlsServer : kSwitchServer)};
  }

  Path Lost(const absl::Status& status) const {
    if (absl::IsDeadlineExceeded(status)) {
      return {"tcp",
              {FallbackCode::kTimeout, {}},
              "the server may be busy, or not gRPC; SKEIN_NEGOTIATION_TIMEOUT waits longer"};
    }
    Path path = NotSkein(/*maybe_tls=*/true);
    path.why.detail = std::string(status.message());
    return path;
  }

  Connection connection_;
  const bool tls_;
  const absl::Duration patience_;
  PolledWaiter waiter_;  // outlives the connector
  std::unique_ptr<stream::Connector> connector_;
};

}  // namespace

void CheckPeer(const HostPort& target, bool tls, const Options& options, Report& report) {
  absl::StatusOr<Connection> connection = Connection::Open(target, absl::Now() + kConnecting);
  if (!connection.ok()) {
    return report.Fail(absl::StrCat(target.text, ": ", connection.status().message()),
                       "is the server up, is the address right, does a firewall stand between?");
  }
  const std::string subject = absl::StrCat(target.text, " (", connection->peer(), "): path ");
  const Path path = Question(*std::move(connection), tls, options).Ask();
  std::string fact = absl::StrCat(subject, path.name);
  if (path.why.code != FallbackCode::kNone) absl::StrAppend(&fact, ": ", ToString(path.why));
  if (path.name != "tcp") {
    return report.Ok(fact, options.mode == Mode::kOff ? kOffHere : absl::string_view(path.advice));
  }
  if (options.mode != Mode::kRequire) return report.Warn(fact, path.advice);
  report.Fail(fact, absl::StrCat(path.advice, path.advice.empty() ? "" : "; ", "SKEIN_GRPC is require: calls fail"));
}

}  // namespace skein::doctor
