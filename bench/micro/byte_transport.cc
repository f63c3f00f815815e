#include "bench/micro/byte_transport.h"

namespace skein::bench {
namespace {

class OverSocket final : public ByteTransport {
 public:
  OverSocket(Socket& socket, size_t bytes) : ByteTransport(bytes), socket_(socket) {}
  std::string path() const override { return socket_.of_the_kernel() ? "tcp" : "preloaded sockets"; }

 private:
  absl::Status SendBytes(absl::Span<const std::byte> bytes) override { return socket_.Send(bytes); }
  absl::Status ReceiveBytes(absl::Span<std::byte> bytes) override { return socket_.Receive(bytes); }

  Socket& socket_;
};

}  // namespace

absl::Status ByteTransport::Flood(uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    if (absl::Status status = Send(); !status.ok()) return status;
  }
  return ReceiveBytes(absl::MakeSpan(buffer_).first(1));
}

absl::Status ByteTransport::Absorb(uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    if (absl::Status status = Receive(); !status.ok()) return status;
  }
  return SendBytes(absl::MakeConstSpan(message_).first(1));
}

std::unique_ptr<Transport> SocketTransport(Socket& socket, size_t bytes) {
  return std::make_unique<OverSocket>(socket, bytes);
}

}  // namespace skein::bench
