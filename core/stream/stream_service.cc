// Streams, as what is negotiated.
#include <memory>
#include <utility>

#include "core/connect/negotiation.h"
#include "core/stream/connector.h"
#include "core/stream/stream_port.h"

namespace skein::stream {
namespace {

class StreamService final : public connect::Service {
 public:
  explicit StreamService(const StreamOptions& options)
      : window_bytes_(options.window_bytes), large_payload_(options.large_payload) {}
  wire::Service name() const override { return wire::Service::kStream; }
  uint64_t window() const override { return window_bytes_; }
  bool takes_blocks() const override { return true; }
  std::shared_ptr<link::Port> MakePort(connect::Place place) override {
    const size_t large_payload = LargePayload(*place.link);
    return std::make_shared<StreamPort>(std::move(place), window_bytes_, large_payload);
  }

 private:
  size_t LargePayload(const link::Link& link) const {
    constexpr size_t kNone = SIZE_MAX;
    if (large_payload_ < 0) return link.device() != nullptr ? kLargePayload : kNone;
    return large_payload_ == 0 ? kNone : static_cast<size_t>(large_payload_);
  }

  const size_t window_bytes_;
  const int64_t large_payload_;  // as in StreamOptions
};

Outcome OutcomeOf(connect::Placement placement) {
  Outcome outcome;
  if (placement.port != nullptr) {
    outcome.stream = std::make_shared<LinkStream>(std::static_pointer_cast<StreamPort>(std::move(placement.port)));
  }
  outcome.why = std::move(placement.why);
  outcome.both_know = placement.both_know;
  outcome.reached = placement.reached;
  outcome.features = placement.features;
  return outcome;
}

class StreamAttempt final : public Connector::Attempt {
 public:
  explicit StreamAttempt(std::unique_ptr<connect::Connector::Attempt> attempt) : attempt_(std::move(attempt)) {}
  absl::string_view offer() const override { return attempt_->offer(); }
  Outcome Complete(absl::string_view answer) override { return OutcomeOf(attempt_->Complete(answer)); }

 private:
  const std::unique_ptr<connect::Connector::Attempt> attempt_;
};

class StreamConnector final : public Connector {
 public:
  explicit StreamConnector(std::unique_ptr<connect::Connector> connector) : connector_(std::move(connector)) {}
  absl::StatusOr<std::unique_ptr<Attempt>> Begin(const connect::Route& route, uint8_t features) override {
    absl::StatusOr<std::unique_ptr<connect::Connector::Attempt>> attempt = connector_->Begin(route, features);
    if (!attempt.ok()) return attempt.status();
    return std::make_unique<StreamAttempt>(*std::move(attempt));
  }

 private:
  const std::unique_ptr<connect::Connector> connector_;
};

class StreamListener final : public Listener {
 public:
  explicit StreamListener(std::unique_ptr<connect::Listener> listener) : listener_(std::move(listener)) {}
  Result Accept(absl::string_view offer, const connect::Route& route, uint8_t features) override {
    connect::Listener::Result result = listener_->Accept(offer, route, features);
    return {std::move(result.answer), OutcomeOf(std::move(result.placement))};
  }

 private:
  const std::unique_ptr<connect::Listener> listener_;
};

}  // namespace

Listener::Result Decline(Fallback why) {
  Listener::Result result;
  result.answer = wire::EncodeAnswer(why);
  result.outcome.why = std::move(why);
  result.outcome.both_know = true;
  return result;
}

std::unique_ptr<Connector> CreateConnector(std::shared_ptr<connect::Fabrics> fabrics, const StreamOptions& options,
                                           wait::Watcher* waiter) {
  return std::make_unique<StreamConnector>(
      connect::CreateConnector(std::move(fabrics), options.link, waiter, std::make_shared<StreamService>(options)));
}

std::unique_ptr<Listener> CreateListener(std::shared_ptr<connect::Fabrics> fabrics, const StreamOptions& options,
                                         wait::Watcher* waiter) {
  return std::make_unique<StreamListener>(
      connect::CreateListener(std::move(fabrics), options.link, waiter, std::make_shared<StreamService>(options)));
}

}  // namespace skein::stream
