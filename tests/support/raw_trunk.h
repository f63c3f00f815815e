// A skeind that is none: it says to another one what it likes.
#ifndef SKEIN_TESTS_SUPPORT_RAW_TRUNK_H_
#define SKEIN_TESTS_SUPPORT_RAW_TRUNK_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "core/fabric/fabric.h"
#include "core/service/trunk_message.h"

namespace skein::service {

class RawTrunk {
 public:
  // Connects to the skeind at that port of this host.
  explicit RawTrunk(uint16_t port) : RawTrunk(UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))) {
    const sockaddr_in to = Loopback(port);
    if (connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) socket_.Reset();
  }
  explicit RawTrunk(UniqueFd connected) : socket_(std::move(connected)) {}

  static sockaddr_in Loopback(uint16_t port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  int socket() const { return socket_.get(); }
  bool SendBytes(absl::string_view bytes) const {
    return send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  bool Send(const TrunkMessage& message) const { return SendBytes(message.view()); }
  // The next message but questions whether this skeind is there, which it answers. UNAVAILABLE: skeind has closed the
  // connection, or says nothing for 10 s, or for a thousand of its turns.
  absl::StatusOr<TrunkMessage> Receive() const {
    absl::StatusOr<TrunkMessage> message = ReceiveAny();
    for (; message.ok() && message->kind == TrunkKind::kAsk; message = ReceiveAny()) {
      TrunkMessage here;
      here.kind = TrunkKind::kHere;
      Send(here);
    }
    return message;
  }
  absl::StatusOr<TrunkMessage> ReceiveAny() const {
    char bytes[sizeof(TrunkMessage)];
    for (size_t have = 0; have < sizeof(bytes);) {
      pollfd wait = {socket_.get(), POLLIN, 0};
      for (int turns = 0; turn != nullptr && turns < 1000 && poll(&wait, 1, 0) == 0; ++turns) turn();
      if (poll(&wait, 1, turn != nullptr ? 0 : 10'000) <= 0) return absl::UnavailableError("skeind says nothing");
      const ssize_t received = recv(socket_.get(), bytes + have, sizeof(bytes) - have, 0);
      if (received <= 0) return absl::UnavailableError("skeind has closed the connection");
      have += static_cast<size_t>(received);
    }
    TrunkMessage message;
    if (!TrunkMessage::Parse(bytes, message)) return absl::InternalError("no message");
    return message;
  }

  // Honest beginnings: of the side that connects, and of the one that was connected to.
  absl::Status Greet(fabric::Device& device) {
    MakeQueuePair(device);
    TrunkMessage hello;
    hello.size = kTrunkVersion;
    hello.SetHost("127.0.0.1");
    hello.SetText(queue_pair->Offer().value());
    if (!Send(hello)) return absl::UnavailableError("skeind takes nothing");
    const absl::StatusOr<TrunkMessage> welcome = Receive();
    if (!welcome.ok()) return welcome.status();
    landing = {welcome->address, welcome->key};
    return queue_pair->Complete(welcome->text_view());
  }
  absl::Status Welcome(fabric::Device& device) {
    MakeQueuePair(device);
    const absl::StatusOr<TrunkMessage> hello = Receive();
    if (!hello.ok()) return hello.status();
    TrunkMessage welcome;
    welcome.kind = TrunkKind::kWelcome;
    welcome.SetText(queue_pair->Accept(hello->text_view()).value());
    return Send(welcome) ? absl::OkStatus() : absl::UnavailableError("skeind takes nothing");
  }

  std::function<void()> turn;     // skeind's, where it has no thread
  fabric::RemoteAddress landing;  // where requests of no bytes go
  std::unique_ptr<fabric::CompletionQueue> completions;
  std::unique_ptr<fabric::QueuePair> queue_pair;

 private:
  void MakeQueuePair(fabric::Device& device) {
    completions = device.CreateCompletionQueue(256).value();
    fabric::QueuePairOptions options;
    options.send_queue = options.receive_queue = completions.get();
    queue_pair = device.CreateQueuePair(options).value();
  }

  UniqueFd socket_;
};

// Where another skeind may connect to.
class RawTrunks {
 public:
  RawTrunks() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = RawTrunk::Loopback(0);
    socklen_t size = sizeof(address);
    bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size);
    listen(socket_.get(), 8);
    getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
  }
  std::unique_ptr<RawTrunk> Next() const {
    return std::make_unique<RawTrunk>(UniqueFd(accept(socket_.get(), nullptr, nullptr)));
  }

  uint16_t port = 0;

 private:
  const UniqueFd socket_;
};

}  // namespace skein::service

#endif  // SKEIN_TESTS_SUPPORT_RAW_TRUNK_H_
