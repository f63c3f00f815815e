// Names of TCP endpoints: looked up, and as numbers.
#ifndef SKEIN_CORE_BASE_TCP_ADDRESS_H_
#define SKEIN_CORE_BASE_TCP_ADDRESS_H_

#include <netdb.h>
#include <sys/socket.h>

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/unique_fd.h"

namespace skein {

using OpenSocket = absl::FunctionRef<absl::StatusOr<UniqueFd>(const addrinfo&)>;

// What `open` gives for the first of the name's addresses with which it succeeds; if with none, its last error. `flags`
// are getaddrinfo's. NOT_FOUND for an unknown name. The look-up takes the time it takes.
absl::StatusOr<UniqueFd> OpenFirst(const std::string& host, const std::string& port, int flags, OpenSocket open);
// The same of "localhost:7000", "10.0.0.1:7000", "[::1]:7000"; INVALID_ARGUMENT for anything else.
absl::StatusOr<UniqueFd> OpenFirst(absl::string_view host_port, int flags, OpenSocket open);

// INVALID_ARGUMENT unless OpenFirst would look that up, and a peer can be connected to there: port 0 is nobody's.
absl::Status CheckPeerAddress(absl::string_view host_port);

// "127.0.0.1:7000", "[::1]:7000".
absl::StatusOr<std::string> NumericAddress(const sockaddr* address, socklen_t size);
// The same of a socket's own end, and of its peer's.
absl::StatusOr<std::string> AddressOf(int fd);
absl::StatusOr<std::string> PeerAddressOf(int fd);

}  // namespace skein

#endif  // SKEIN_CORE_BASE_TCP_ADDRESS_H_
