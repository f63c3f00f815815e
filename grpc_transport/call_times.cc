#include "grpc_transport/call_times.h"

#include <array>
#include <cstddef>

namespace skein::grpc_transport {
namespace {

constexpr std::array<uint64_t ServerTimes::*, 4> kTimes = {&ServerTimes::arrived, &ServerTimes::dispatched,
                                                           &ServerTimes::handler_start, &ServerTimes::handler_end};
constexpr size_t kDigits = 16;

void Write(uint64_t time, char* digits) {
  for (size_t i = kDigits; i-- > 0; time >>= 4) digits[i] = "0123456789abcdef"[time & 15];
}

// False: there is something else among the digits.
bool Read(const char* digits, uint64_t& time) {
  time = 0;
  for (size_t i = 0; i < kDigits; ++i) {
    const char digit = digits[i];
    const bool letter = digit >= 'a' && digit <= 'f';
    if (!letter && (digit < '0' || digit > '9')) return false;
    time = time << 4 | static_cast<uint64_t>(digit - (letter ? 'a' - 10 : '0'));
  }
  return true;
}

}  // namespace

std::string EncodeTimes(const ServerTimes& times) {
  std::string text(kTimes.size() * kDigits, '0');
  for (size_t i = 0; i < kTimes.size(); ++i) Write(times.*kTimes[i], &text[i * kDigits]);
  return text;
}

std::optional<ServerTimes> DecodeTimes(absl::string_view text) {
  if (text.size() != kTimes.size() * kDigits) return std::nullopt;
  ServerTimes times;
  for (size_t i = 0; i < kTimes.size(); ++i) {
    if (!Read(&text[i * kDigits], times.*kTimes[i])) return std::nullopt;
  }
  return times;
}

}  // namespace skein::grpc_transport
