// A blocking TCP socket, for what two ends have to tell each other and as something to measure. It uses only what
// librspreload knows, so that with that library the same program measures rsockets.
#ifndef SKEIN_BENCH_MICRO_SOCKET_H_
#define SKEIN_BENCH_MICRO_SOCKET_H_

#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/unique_fd.h"

namespace skein::bench {

// One thread at a time. Calls wait without a limit; a peer that has gone is UNAVAILABLE.
class Socket {
 public:
  // "host:port", "[::1]:port". INVALID_ARGUMENT for anything else.
  static absl::StatusOr<Socket> Connect(absl::string_view address);
  // Port 0: any that is free, see address().
  static absl::StatusOr<Socket> Listen(absl::string_view address);
  absl::StatusOr<Socket> Accept() const;

  int fd() const { return fd_.get(); }
  // This end's, as numbers: "10.9.0.1:7000".
  absl::StatusOr<std::string> address() const;
  // False: a library has put something of its own in the kernel's place.
  bool of_the_kernel() const;

  absl::Status Send(absl::Span<const std::byte> bytes);
  // All of them.
  absl::Status Receive(absl::Span<std::byte> bytes);

  // Text with its length in front, at most kMaxText; a longer one is DATA_LOSS.
  absl::Status SendText(absl::string_view text);
  absl::StatusOr<std::string> ReceiveText();
  static constexpr size_t kMaxText = 4096;

 private:
  explicit Socket(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_MICRO_SOCKET_H_
