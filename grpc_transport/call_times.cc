#include "grpc_transport/call_times.h"

#include <array>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace skein::grpc_transport {
namespace {

constexpr size_t kNumbers = 4;
constexpr size_t kMaxText = kNumbers * 17;

// Of a time that is known, 0 is left to say that one is not: a time is later than the first by 1 ns at least.
uint64_t Later(uint64_t time, uint64_t first) { return time == 0 ? 0 : time <= first ? 1 : time - first; }

}  // namespace

std::string EncodeTimes(const ServerTimes& times) {
  const uint64_t first = times.arrived;
  return absl::StrCat(absl::Hex(first), "-", absl::Hex(Later(times.dispatched, first)), "-",
                      absl::Hex(Later(times.handler_start, first)), "-", absl::Hex(Later(times.handler_end, first)));
}

std::optional<ServerTimes> DecodeTimes(absl::string_view text) {
  if (text.size() > kMaxText) return std::nullopt;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '-');
  if (parts.size() != kNumbers) return std::nullopt;
  std::array<uint64_t, kNumbers> numbers{};
  for (size_t i = 0; i < kNumbers; ++i) {
    if (!absl::SimpleHexAtoi(parts[i], &numbers[i])) return std::nullopt;
  }
  const uint64_t first = numbers[0];
  const auto time = [first](uint64_t later) { return later == 0 ? 0 : first + later; };
  return ServerTimes{first, time(numbers[1]), time(numbers[2]), time(numbers[3])};
}

}  // namespace skein::grpc_transport
