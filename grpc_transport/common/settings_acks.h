// A server without Skein acknowledges the SETTINGS frames of an offer that hid in HTTP/2's beginning. HTTP/2 of this
// gRPC knows nothing of these frames, and takes an acknowledgement too many for a protocol error (1.83: "Received
// unexpected settings ack"). So they are taken out of what the server sends.
#ifndef SKEIN_GRPC_TRANSPORT_COMMON_SETTINGS_ACKS_H_
#define SKEIN_GRPC_TRANSPORT_COMMON_SETTINGS_ACKS_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace skein::grpc_transport {

// Reads HTTP/2's frames as they come, in pieces of any size; all of them a peer's bytes. One thread at a time.
class SettingsAcks {
 public:
  // The first `frames` acknowledgements are not passed on: a server acknowledges in the order of arrival (RFC
  // 9113, 6.5.3).
  explicit SettingsAcks(int frames) : left_(frames) {}

  // Nothing is taken out any more, and nothing is held back: further bytes go past this object.
  bool done() const { return left_ == 0 && header_.empty() && payload_left_ == 0; }
  // What of `bytes`, and of what was held back before, is for HTTP/2.
  std::string Pass(absl::string_view bytes);

 private:
  int left_;
  std::string header_;       // of a frame whose header is not whole yet
  size_t payload_left_ = 0;  // of the frame under way
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_COMMON_SETTINGS_ACKS_H_
