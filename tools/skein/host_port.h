// An address as people write it.
#ifndef SKEIN_TOOLS_SKEIN_HOST_PORT_H_
#define SKEIN_TOOLS_SKEIN_HOST_PORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace skein {

struct HostPort {
  std::string host;  // a name or an address, without brackets
  std::string port;
  std::string text;  // as it was given
};

// "name:1", "1.2.3.4:1", "[::1]:1". INVALID_ARGUMENT says what is expected.
absl::StatusOr<HostPort> ParseHostPort(absl::string_view text, int lowest_port = 1);

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_HOST_PORT_H_
