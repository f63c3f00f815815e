// How an offer or an answer travels by a connection that could also carry other protocols: in a frame that is the
// beginning of neither HTTP/2, TLS nor any of Thrift's protocols,
//
//     A5 53 4B 4E ("SKN") | u8 version 1 | u16 size, big-endian | bytes
//
// Pure functions over bytes, all of them a peer's.
#ifndef SKEIN_CORE_CONNECT_FRAME_H_
#define SKEIN_CORE_CONNECT_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace skein::connect {

// The longest that ParseFrame needs to see of a connection.
inline constexpr size_t kMaxFrameBytes = 7 + 1024;

std::string Frame(absl::string_view bytes);

// What the first bytes of a connection are.
enum class Beginning : uint8_t {
  kUndecided,  // more bytes are needed
  kOther,      // nothing of ours
  kMalformed,  // ours, but broken
  kWhole,      // `payload` is there, in the first `size` bytes
};
struct Parsed {
  Beginning beginning = Beginning::kUndecided;
  std::string payload;
  size_t size = 0;
};

// Whether both are the same as far as they go.
bool AgreeSoFar(absl::string_view bytes, absl::string_view expected);

Parsed ParseFrame(absl::string_view bytes, size_t max_payload);

}  // namespace skein::connect

#endif  // SKEIN_CORE_CONNECT_FRAME_H_
