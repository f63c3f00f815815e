#include "grpc_transport/common/negotiation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/trace/counters.h"
#include "grpc_transport/common/log.h"

namespace skein::grpc_transport {
namespace {

// Bytes on their way then are of no use, and nothing new is to be awaited behind EndWaits.
absl::Status ShutDownMeanwhile() { return Failure("shut down during the negotiation"); }

absl::string_view Words(const absl::Status& status) { return status.ok() ? "OK" : status.message(); }

}  // namespace

void Negotiation::Start() {
  if (connection_.mu_lost.IsLost()) return;
  MutexLock lock(&connection_.mu);
  if (Traces()) {
    traced_as_ =
        absl::StrCat("skein: ", role_ == Path::Role::kClient ? "client" : "server", " ", connection_.Peer(), ": ");
  }
  Step("begins");
  if (shut_down_) return Fail(Failure("shut down before the negotiation"));
  if (!options_.ok()) return Fail(Failure(absl::StrCat("skein: ", options_.status().message())));
  Begin();
}

void Negotiation::Step(absl::string_view what, absl::string_view more) const {
  if (!traced_as_.empty()) Log(Severity::kInfo, absl::StrCat(traced_as_, what, more.empty() ? "" : ": ", more));
}

bool Negotiation::ShutDown() {
  if (std::exchange(shut_down_, true) || finished_) return false;
  Step("gRPC gives the connection up");
  return true;
}

void Negotiation::OnRead(const absl::Status& status) {
  if (connection_.mu_lost.IsLost()) return;
  MutexLock lock(&connection_.mu);
  reading_ = false;
  if (finished_) return;
  Step("reads", Words(status));
  if (!status.ok()) return Lost(status);
  if (shut_down_) return Lost(ShutDownMeanwhile());
  connection_.TakeRead();
  BytesCame();
}

void Negotiation::OnWritten(const absl::Status& status) {
  if (connection_.mu_lost.IsLost()) return;
  MutexLock lock(&connection_.mu);
  if (finished_) return;
  Step("has written", Words(status));
  if (!status.ok()) return Lost(status);
  if (shut_down_) return Lost(ShutDownMeanwhile());
  Written();
}

void Negotiation::OnTimer() {
  if (connection_.mu_lost.IsLost()) return;
  MutexLock lock(&connection_.mu);
  if (finished_) return;
  Step("has waited long enough");
  timed_out_ = true;
  if (EndWaiting()) return TimedOut();
  // Between two steps the next one sees it.
  if (!reading_ || !connection_.WithdrawRead()) return;
  reading_ = false;
  TimedOut();
}

void Negotiation::OnReached(const absl::Status& status) {
  if (connection_.mu_lost.IsLost()) return;
  MutexLock lock(&connection_.mu);
  if (!EndWaiting()) return;
  Step("reaches the peer", Words(status));
  Reached(status);
}

void Negotiation::OnReconnected(const absl::Status& status) {
  if (connection_.mu_lost.IsLost()) return;
  MutexLock lock(&connection_.mu);
  if (finished_) return;
  Step("is connected anew", Words(status));
  Reconnected(status);
}

void Negotiation::Read() {
  if (timed_out_) return TimedOut();
  reading_ = true;
  connection_.Read();
}

void Negotiation::Wait() {
  waiting_ = true;
  if (timed_out_ && EndWaiting()) TimedOut();
}

ListedPath Negotiation::List(std::string path, std::string why, bool below_http2) {
  return ListPath({role_, connection_.Local(), connection_.Peer(), std::move(path), std::move(why),
                   connection_.Secure(), below_http2});
}

void Negotiation::FinishWithStream(stream::Outcome outcome) {
  if (outcome.why.code != FallbackCode::kNone) trace::CountFallback(outcome.why.code);
  Negotiated end;
  end.features = outcome.features;
  end.stream = std::move(outcome.stream);
  end.path = List(end.stream->path(), outcome.why.code == FallbackCode::kNone ? "" : ToString(outcome.why),
                  (end.features & kCallsFeature) != 0);
  // The client chooses the path, and a client that requires Skein has nothing to fall back to meanwhile.
  if (role_ == Path::Role::kClient && options_->mode != Mode::kRequire) {
    end.on_lost = [fabrics = streams().fabrics, route = connection_.RouteNow(),
                   kind = connect::FabricKind(end.stream->path())] { fabrics->Failed(route, kind); };
  }
  Finish(std::move(end));
}

void Negotiation::FinishWithTcp(const Fallback& why, int settings_frames, std::function<void()> on_other_beginning) {
  trace::CountFallback(why.code);
  if (options_->mode == Mode::kRequire) {
    return Fail(Failure(
        absl::StrCat("skein.mode is require, and there is only tcp to ", connection_.Peer(), ": ", ToString(why))));
  }
  Negotiated end;
  end.path = List("tcp", ToString(why));
  end.settings_frames = settings_frames;
  end.on_other_beginning = std::move(on_other_beginning);
  Finish(std::move(end));
}

void Negotiation::Fail(absl::Status why) {
  Negotiated end;
  end.failed = std::move(why);
  Finish(std::move(end));
}

void Negotiation::Finish(Negotiated end) {
  finished_ = true;
  waiting_ = false;
  if (!end.failed.ok()) {
    Step("has failed", end.failed.message());
  } else {
    Step("has negotiated", end.stream != nullptr ? end.stream->path() : "tcp");
  }
  connection_.Finish(std::move(end));
}

}  // namespace skein::grpc_transport
