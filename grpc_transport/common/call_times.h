// What a server tells a client of a traced call's times there, in the call's trailing metadata; and how the client
// asks.
//
// Neither is seen by the program at either end: the question is asked over Skein's own paths alone, where the server
// has a filter that takes it out. Pure functions of a peer's bytes.
#ifndef SKEIN_GRPC_TRANSPORT_COMMON_CALL_TIMES_H_
#define SKEIN_GRPC_TRANSPORT_COMMON_CALL_TIMES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace skein::grpc_transport {

inline constexpr absl::string_view kTraceKey = "skein-trace-bin";
inline constexpr absl::string_view kTraceWanted = "1";

// ns of the server's CLOCK_MONOTONIC; 0: not known.
struct ServerTimes {
  uint64_t arrived = 0;
  uint64_t dispatched = 0;
  uint64_t handler_start = 0;
  uint64_t handler_end = 0;

  friend bool operator==(const ServerTimes&, const ServerTimes&) = default;
};

// In the order above, little-endian.
std::string EncodeTimes(const ServerTimes& times);
// None if `bytes` are none of these.
std::optional<ServerTimes> DecodeTimes(absl::string_view bytes);

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_COMMON_CALL_TIMES_H_
