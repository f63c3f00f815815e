// How offers and answers travel before HTTP/2 or TLS has begun. Pure functions over bytes, all of them a peer's.
//
// Plaintext: the offer hides in a true HTTP/2 beginning, so that a server without Skein takes it for a client with
// unknown settings: the client preface, then SETTINGS frames of at most 16 settings each,
//
//     setting 0xF5A0 = size of the offer in bytes, 0xF5A1, 0xF5A2, ... = its bytes, four a setting, big-endian
//
// (sixteen, because some servers close connections that send more than 32 in a frame).
// Under TLS, and for every answer: a frame (core/connect/frame.h).
#ifndef SKEIN_GRPC_TRANSPORT_COMMON_OFFER_BYTES_H_
#define SKEIN_GRPC_TRANSPORT_COMMON_OFFER_BYTES_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "core/connect/frame.h"

namespace skein::grpc_transport {

using connect::Beginning;
using connect::Frame;
using connect::kMaxFrameBytes;
using connect::Parsed;
using connect::ParseFrame;

inline constexpr absl::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// The longest that ParseHttp2 needs to see of a connection.
inline constexpr size_t kMaxHttp2OfferBytes = 24 + (1 + 256 / 4) * 6 + (1 + 256 / 4 / 16) * 9;

std::string HideInHttp2(absl::string_view offer);
// In how many SETTINGS frames that is: a server without Skein acknowledges each.
int SettingsFramesOf(absl::string_view offer);
Parsed ParseHttp2(absl::string_view bytes, size_t max_payload);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_COMMON_OFFER_BYTES_H_
