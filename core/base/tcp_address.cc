#include "core/base/tcp_address.h"

#include <cerrno>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/errno_status.h"

namespace skein {
namespace {

absl::StatusOr<std::string> Ask(decltype(getsockname)& which, int fd, absl::string_view what) {
  sockaddr_storage found = {};
  socklen_t size = sizeof(found);
  auto* const address = reinterpret_cast<sockaddr*>(&found);
  if (which(fd, address, &size) != 0) return ErrnoStatus(errno, what);
  return NumericAddress(address, size);
}

struct HostAndPort {
  absl::string_view host;  // without brackets
  int port = 0;
};

absl::StatusOr<HostAndPort> Parse(absl::string_view host_port, int lowest_port) {
  const size_t colon = host_port.rfind(':');
  int port = 0;
  if (colon == absl::string_view::npos || colon == 0 || !absl::SimpleAtoi(host_port.substr(colon + 1), &port) ||
      port < lowest_port || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", host_port, "' is not HOST:PORT, as localhost:7000, 10.0.0.1:7000 or [::1]:7000"));
  }
  absl::string_view host = host_port.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  return HostAndPort{host, port};
}

}  // namespace

absl::Status CheckPeerAddress(absl::string_view host_port) { return Parse(host_port, /*lowest_port=*/1).status(); }

absl::StatusOr<UniqueFd> OpenFirst(const std::string& host, const std::string& port, int flags, OpenSocket open) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &list); error != 0) {
    return absl::NotFoundError(absl::StrCat("cannot find ", host, ": ", gai_strerror(error)));
  }
  const absl::Cleanup free_list = [list] { freeaddrinfo(list); };
  absl::Status refused;
  for (const addrinfo* address = list; address != nullptr; address = address->ai_next) {
    absl::StatusOr<UniqueFd> fd = open(*address);
    if (fd.ok()) return fd;
    refused = fd.status();
  }
  return refused;
}

absl::StatusOr<UniqueFd> OpenFirst(absl::string_view host_port, int flags, OpenSocket open) {
  const absl::StatusOr<HostAndPort> parsed = Parse(host_port, /*lowest_port=*/0);
  if (!parsed.ok()) return parsed.status();
  return OpenFirst(std::string(parsed->host), absl::StrCat(parsed->port), flags, open);
}

absl::StatusOr<std::string> NumericAddress(const sockaddr* address, socklen_t size) {
  char host[NI_MAXHOST] = {};
  char port[NI_MAXSERV] = {};
  if (getnameinfo(address, size, host, sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return ErrnoStatus(errno, "find the address of the socket");
  }
  const bool v6 = address->sa_family == AF_INET6;
  return absl::StrCat(v6 ? "[" : "", host, v6 ? "]:" : ":", port);
}

absl::StatusOr<std::string> AddressOf(int fd) { return Ask(getsockname, fd, "find the address of the socket"); }
absl::StatusOr<std::string> PeerAddressOf(int fd) { return Ask(getpeername, fd, "find the address of its peer"); }

}  // namespace skein
