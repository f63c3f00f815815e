#include "grpc_transport/common/call_times.h"

#include <type_traits>

#include "core/wire/bytes.h"

namespace skein::grpc_transport {

static_assert(std::is_trivially_copyable_v<ServerTimes> && sizeof(ServerTimes) == 4 * sizeof(uint64_t));

std::string EncodeTimes(const ServerTimes& times) {
  std::string bytes;
  wire::Put(bytes, times);
  return bytes;
}

std::optional<ServerTimes> DecodeTimes(absl::string_view bytes) {
  wire::FieldReader fields(bytes);
  const auto times = fields.Take<ServerTimes>();
  if (!fields.done()) return std::nullopt;
  return times;
}

}  // namespace skein::grpc_transport
