#include "tools/skein/host_port.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace skein {

absl::StatusOr<HostPort> ParseHostPort(absl::string_view text, int lowest_port) {
  const absl::Status wrong = absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not HOST:PORT, as localhost:50051, 10.0.0.1:50051 or [::1]:50051"));
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return wrong;
  absl::string_view host = text.substr(0, colon);
  const absl::string_view port = text.substr(colon + 1);
  const bool bracketed = absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  int number = 0;
  if (host.empty() || host.find_first_of("[]/ ") != host.npos || bracketed != absl::StrContains(host, ':') ||
      !absl::SimpleAtoi(port, &number) || number < lowest_port || number > 65535) {
    return wrong;
  }
  return HostPort{std::string(host), std::string(port), std::string(text)};
}

}  // namespace skein
