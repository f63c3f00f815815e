// A connection about which ends negotiate, whose bytes, timer and ends are the test's.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_COMMON_FAKE_CONNECTION_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_COMMON_FAKE_CONNECTION_H_

#include <arpa/inet.h>
#include <netinet/in.h>

#include <optional>
#include <string>
#include <utility>

#include "grpc_transport/common/negotiation.h"

namespace skein::grpc_transport {

class FakeConnection final : public Connection {
 public:
  void Read() override { reading = true; }
  bool WithdrawRead() override { return std::exchange(reading, false); }
  void TakeRead() override { received += std::exchange(arrived, ""); }
  void Write(absl::string_view bytes) override { written += std::string(bytes); }
  void StartTimer(absl::Duration duration) override { timer = duration; }
  void AwaitReached(stream::Stream& /*stream*/) override { awaits_reached = true; }
  absl::Status Reconnect() override {
    received.clear();
    written.clear();
    reconnects = no_way_back.ok();
    return no_way_back;
  }
  bool CancelReconnect() override { return std::exchange(reconnects, false); }
  void Finish(Negotiated negotiated) override { end = std::move(negotiated); }
  std::string Received(size_t max_bytes) const override { return received.substr(0, max_bytes); }
  size_t ReceivedBytes() const override { return received.size(); }
  void DropReceived(size_t bytes) override { received.erase(0, bytes); }
  connect::Route RouteNow() const override {
    connect::Route route;
    for (sockaddr_storage* end : {&route.local, &route.peer}) {
      auto& address = reinterpret_cast<sockaddr_in&>(*end);
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    return route;
  }
  std::string Local() const override { return "local"; }
  std::string Peer() const override { return "peer"; }
  bool Secure() const override { return secure; }
  bool IsMade() const override { return made; }
  bool HasEnded() const override { return ended; }
  Fallback Prevented() const override { return prevented; }
  void WatchLinks() override { watches = true; }

  bool secure = false;
  bool made = true;
  bool ended = false;
  Fallback prevented;
  absl::Status no_way_back;

  std::string arrived;  // and not taken
  std::string received;
  std::string written;
  bool reading = false;
  std::optional<absl::Duration> timer;
  bool awaits_reached = false;
  bool reconnects = false;
  bool watches = false;
  std::optional<Negotiated> end;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_COMMON_FAKE_CONNECTION_H_
