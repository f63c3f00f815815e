#include "grpc_transport/common/client_negotiation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/deadline.h"
#include "core/base/forked.h"
#include "core/connect/own_process.h"
#include "grpc_transport/common/offer_bytes.h"

namespace skein::grpc_transport {

void ClientNegotiation::Begin() {
  secure_ = connection_.Secure();
  if (const Fallback why = PreventedHere(); why.code != FallbackCode::kNone) return FinishWithTcp(why);
  connection_.WatchLinks();
  if (const absl::Status status = MakeOffer(); !status.ok()) return FinishWithTcp(FallbackOf(status));
  Step("offers", secure_ ? "ahead of the handshake" : "hidden in HTTP/2");
  connection_.Write(secure_ ? Frame(attempt_->offer()) : HideInHttp2(attempt_->offer()));
}

Fallback ClientNegotiation::PreventedHere() {
  if (InForkedChild()) return connect::WhyNotForked();
  if (behind_proxy_) return {FallbackCode::kProxy, {}};
  if (Fallback why = connection_.Prevented(); why.code != FallbackCode::kNone) return why;
  // A client that requires Skein wants it as soon as the peer has it.
  if (options().mode != Mode::kRequire && process_.plain_peers().Contains(address_, SteadyNow()))
    return {FallbackCode::kNegativeCache, {}};
  return {};
}

absl::Status ClientNegotiation::MakeOffer() {
  absl::StatusOr<std::unique_ptr<stream::Connector::Attempt>> attempt =
      streams().connector->Begin(connection_.RouteNow(), connection_.Features());
  if (!attempt.ok()) return attempt.status();
  attempt_ = *std::move(attempt);
  return absl::OkStatus();
}

// Now there is a connection, which gRPC may have taken for made before (connect::RouteOf), and somebody to wait for.
void ClientNegotiation::Written() {
  asked_ = true;
  StartTimer();
  Read();
}

void ClientNegotiation::BytesCame() {
  if (InForkedChild()) return Reconnect(connect::WhyNotForked(), Remember::kNo);  // the answer is the parent's
  const Parsed parsed = ParseFrame(connection_.Received(kMaxFrameBytes), connect::kMaxAnswerBytes);
  switch (parsed.beginning) {
    case Beginning::kUndecided:
      return Read();
    case Beginning::kMalformed:  // or of a version to come
      return Reconnect({FallbackCode::kProtocol, "the answer is malformed"}, Remember::kNo);
    case Beginning::kOther: {
      Fallback why{FallbackCode::kPeerNotSkein, {}};
      if (secure_) return Reconnect(std::move(why), Remember::kPeerIsPlain);
      return FinishBehindOffer(why);
    }
    case Beginning::kWhole:
      connection_.DropReceived(parsed.size);
      return OnAnswer(parsed.payload);
  }
}

void ClientNegotiation::OnAnswer(absl::string_view answer) {
  stream::Outcome outcome = attempt_->Complete(answer);
  Step("is answered", outcome.stream != nullptr ? outcome.stream->path() : ToString(outcome.why));
  if (outcome.stream == nullptr) {
    // Whether the peer said no, or said yes and this side cannot: only in the first case does it go on with TCP here.
    if (outcome.both_know) return secure_ ? FinishWithTcp(outcome.why) : FinishBehindOffer(outcome.why);
    return Reconnect(std::move(outcome.why), Remember::kNo);
  }
  if (connection_.ReceivedBytes() > 0) return Fail(Failure("skein: the peer wrote more than its answer"));
  if (outcome.reached) return FinishWithStream(std::move(outcome));
  outcome_ = std::move(outcome);
  TryOut();
}

// An adapter may not know all credentials that put something else than HTTP/2 first.
void ClientNegotiation::FinishBehindOffer(const Fallback& why) {
  FinishWithTcp(why, SettingsFramesOf(attempt_->offer()),
                [&process = process_, address = address_, for_long = options().negative_cache] {
                  const absl::Time now = SteadyNow();
                  process.plain_peers().Add(address, now + for_long, now);
                });
}

void ClientNegotiation::TryOut() {
  Wait();
  if (outcome_.stream == nullptr) return;  // the time was up already
  tried_out_ = true;
  connection_.AwaitReached(*outcome_.stream);
}

void ClientNegotiation::Reached(const absl::Status& status) {
  if (InForkedChild()) return Reconnect(connect::WhyNotForked(), Remember::kNo);
  if (!status.ok()) return OnUnreachable(status.message());
  FinishWithStream(std::move(outcome_));
}

void ClientNegotiation::OnUnreachable(absl::string_view why) {
  const std::string kind = connect::FabricKind(outcome_.stream->path());
  DropOffer();
  // A peer that has died tells nothing of the path.
  if (options().mode != Mode::kRequire && tried_out_ && !connection_.HasEnded()) {
    streams().fabrics->Failed(connection_.RouteNow(), kind);
  }
  Reconnect({FallbackCode::kNoRoute, std::string(why)}, Remember::kNo);
}

// Some servers drop a client that offers: TLS servers without Skein, and servers that mind unknown settings.
void ClientNegotiation::Lost(const absl::Status& why) {
  if (is_shut_down() || !asked_) return Fail(why);
  Reconnect({FallbackCode::kPeerNotSkein, {}}, secure_ ? Remember::kPeerIsPlain : Remember::kNo);
}

void ClientNegotiation::TimedOut() {
  if (InForkedChild()) return Reconnect(connect::WhyNotForked(), Remember::kNo);
  if (outcome_.stream != nullptr) return OnUnreachable("nothing arrived in time");
  // Not on this connection: the answer may still come, and would be taken for HTTP/2.
  Reconnect({FallbackCode::kTimeout, {}}, secure_ ? Remember::kPeerIsPlain : Remember::kNo);
}

void ClientNegotiation::Reconnect(Fallback why, Remember remember) {
  if (is_shut_down()) return Fail(Failure("shut down during the negotiation"));
  if (options().mode == Mode::kRequire) return FinishWithTcp(why);  // which fails, and says why
  why_ = std::move(why);
  remember_ = remember;
  Step("connects anew, without an offer", ToString(why_));
  DropOffer();
  if (const absl::Status status = connection_.Reconnect(); !status.ok()) return Fail(status);
  reconnecting_ = true;
}

void ClientNegotiation::Reconnected(const absl::Status& status) {
  reconnecting_ = false;
  if (!status.ok()) return Fail(status);
  if (is_shut_down()) return Fail(Failure("shut down while reconnecting"));
  // A server that takes no connection at all is none of those that do not speak Skein.
  if (connection_.IsMade() && remember_ == Remember::kPeerIsPlain) {
    const absl::Time now = SteadyNow();
    process_.plain_peers().Add(address_, now + options().negative_cache, now);
  }
  FinishWithTcp(why_);
}

void ClientNegotiation::DropOffer() {
  LetGo(outcome_);
  LetGo(attempt_);
}

void ClientNegotiation::EndWaits() {
  if (EndWaiting()) {
    DropOffer();
    return Fail(Failure("shut down during the negotiation"));
  }
  if (!reconnecting_ || !connection_.CancelReconnect()) return;
  reconnecting_ = false;
  Fail(Failure("shut down while reconnecting"));
}

}  // namespace skein::grpc_transport
