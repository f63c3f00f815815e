// The two ends of a negotiation, whatever it is about: streams, or places for calls.
#ifndef SKEIN_TESTS_CHAOS_NEGOTIATORS_H_
#define SKEIN_TESTS_CHAOS_NEGOTIATORS_H_

#include <memory>
#include <string>
#include <utility>

#include "core/connect/negotiation.h"
#include "core/rpc/client_port.h"
#include "core/rpc/server_port.h"
#include "core/stream/connector.h"
#include "tests/sim/link_device.h"

namespace skein::chaos {

// What one end gets of it: a stream or a port, or why not.
struct Ending {
  Ending() = default;
  explicit Ending(stream::Outcome outcome) : stream(std::move(outcome.stream)), why(std::move(outcome.why)) {}
  explicit Ending(connect::Placement placement) : port(std::move(placement.port)), why(std::move(placement.why)) {}
  bool given() const { return stream != nullptr || port != nullptr; }
  // Of the link that it is on.
  std::shared_ptr<LinkEnd> end() const {
    if (stream != nullptr) return EndOf(*stream->link());
    if (auto* const server = dynamic_cast<rpc::ServerPort*>(port.get())) return EndOf(server->link());
    auto* const client = dynamic_cast<rpc::ClientPort*>(port.get());
    return client == nullptr ? nullptr : EndOf(client->link());
  }
  // As far as the network goes, it may be that nothing is given.
  bool may_be_nothing = false;

  std::shared_ptr<stream::Stream> stream;
  std::shared_ptr<link::Port> port;
  Fallback why;
  uint32_t number = 0;  // of the stream, on its link
};

class Asking {
 public:
  virtual ~Asking() = default;
  virtual std::string offer() const = 0;
  virtual Ending Complete(const std::string& answer) = 0;
};

class Asker {
 public:
  virtual ~Asker() = default;
  virtual absl::StatusOr<std::unique_ptr<Asking>> Begin() = 0;
};

class Answerer {
 public:
  virtual ~Answerer() = default;
  virtual std::pair<std::string, Ending> Accept(const std::string& offer) = 0;
};

// Of a Connector or a LinkConnector, which have the same shape.
template <class Connector>
class AskerBy final : public Asker {
 public:
  explicit AskerBy(std::unique_ptr<Connector> connector) : connector_(std::move(connector)) {}
  absl::StatusOr<std::unique_ptr<Asking>> Begin() override {
    auto attempt = connector_->Begin({});
    if (!attempt.ok()) return attempt.status();
    return std::make_unique<AskingBy>(*std::move(attempt));
  }

 private:
  struct AskingBy final : Asking {
    explicit AskingBy(std::unique_ptr<typename Connector::Attempt> begun) : attempt(std::move(begun)) {}
    std::string offer() const override { return std::string(attempt->offer()); }
    Ending Complete(const std::string& answer) override { return Ending(attempt->Complete(answer)); }
    const std::unique_ptr<typename Connector::Attempt> attempt;
  };

  const std::unique_ptr<Connector> connector_;
};

template <class Listener>
class AnswererBy final : public Answerer {
 public:
  explicit AnswererBy(std::unique_ptr<Listener> listener) : listener_(std::move(listener)) {}
  std::pair<std::string, Ending> Accept(const std::string& offer) override {
    auto result = listener_->Accept(offer, {});
    return {std::move(result.answer), EndingOf(result)};
  }

 private:
  static Ending EndingOf(stream::Listener::Result& result) { return Ending(std::move(result.outcome)); }
  static Ending EndingOf(connect::Listener::Result& result) { return Ending(std::move(result.placement)); }

  const std::unique_ptr<Listener> listener_;
};

template <class Connector>
std::unique_ptr<Asker> MakeAsker(std::unique_ptr<Connector> connector) {
  return std::make_unique<AskerBy<Connector>>(std::move(connector));
}
template <class Listener>
std::unique_ptr<Answerer> MakeAnswerer(std::unique_ptr<Listener> listener) {
  return std::make_unique<AnswererBy<Listener>>(std::move(listener));
}

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_NEGOTIATORS_H_
