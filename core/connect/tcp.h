// The TCP connection that a negotiation travels by where no framework has one, and that stays open afterwards, silent:
// its end, or any byte, says that the other process has gone.
//
// Each way one frame: four letters, which say what is negotiated | u16 size | the offer, or the answer.
#ifndef SKEIN_CORE_CONNECT_TCP_H_
#define SKEIN_CORE_CONNECT_TCP_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/deadline.h"
#include "core/base/unique_fd.h"

namespace skein::connect {

// `address` and its errors: see OpenFirst. The sockets do not block.
absl::StatusOr<UniqueFd> ListenTcp(absl::string_view address);
absl::StatusOr<UniqueFd> ConnectTcp(absl::string_view address, Deadline deadline);
// nullopt: nobody is waiting.
absl::StatusOr<std::optional<UniqueFd>> AcceptTcp(int listener);

// A frame on its way in.
class FrameReader {
 public:
  // `letters`: four, of a literal.
  FrameReader(absl::string_view letters, size_t max_payload) : letters_(letters), max_payload_(max_payload) {}
  // Takes what has come, without waiting. The payload when it is whole; nullopt: not yet. UNAVAILABLE: the other end
  // has closed; DATA_LOSS: that is no frame, or there is more behind it.
  absl::StatusOr<std::optional<std::string>> Read(int fd);

 private:
  const absl::string_view letters_;
  const size_t max_payload_;
  std::string bytes_;
};

// A frame is small enough for a socket's buffer: it is sent at once, or the connection fails.
absl::Status SendFrame(int fd, absl::string_view letters, absl::string_view payload);
absl::StatusOr<std::string> ReceiveFrame(int fd, absl::string_view letters, size_t max_payload, Deadline deadline);

}  // namespace skein::connect

#endif  // SKEIN_CORE_CONNECT_TCP_H_
