// Messages as pieces of a byte stream: of a socket, or of one of ours.
#ifndef SKEIN_BENCH_MICRO_BYTE_TRANSPORT_H_
#define SKEIN_BENCH_MICRO_BYTE_TRANSPORT_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "bench/micro/socket.h"
#include "bench/micro/transport.h"

namespace skein::bench {

class ByteTransport : public Transport {
 public:
  explicit ByteTransport(size_t bytes) : message_(bytes), buffer_(bytes) {}

  absl::Status Send() override { return SendBytes(message_); }
  absl::Status Receive() override { return ReceiveBytes(absl::MakeSpan(buffer_)); }
  // The last byte is answered with one.
  absl::Status Flood(uint64_t count) override;
  absl::Status Absorb(uint64_t count) override;

 private:
  virtual absl::Status SendBytes(absl::Span<const std::byte> bytes) = 0;
  // As many as `bytes` has space for; whether they are put there is the implementation's matter.
  virtual absl::Status ReceiveBytes(absl::Span<std::byte> bytes) = 0;

  const std::vector<std::byte> message_;
  std::vector<std::byte> buffer_;
};

// `socket` outlives it, and is used by nobody else while it measures.
std::unique_ptr<Transport> SocketTransport(Socket& socket, size_t bytes);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_MICRO_BYTE_TRANSPORT_H_
