#include "grpc_transport/event_engine/addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace skein::grpc_transport {
namespace {

std::string UnixText(const sockaddr_un& address, size_t size) {
  const size_t before = offsetof(sockaddr_un, sun_path);
  if (size <= before) return "unix:";  // a client's end has no name
  if (address.sun_path[0] != '\0') {
    return absl::StrCat("unix:", std::string(address.sun_path, strnlen(address.sun_path, size - before)));
  }
  return absl::StrCat("unix-abstract:", absl::CHexEscape(std::string(address.sun_path + 1, size - before - 1)));
}

sockaddr_storage Copy(const EventEngine::ResolvedAddress& address) {
  sockaddr_storage copy = {};
  std::memcpy(&copy, address.address(), std::min<size_t>(address.size(), sizeof(copy)));
  return copy;
}

}  // namespace

std::string AddressText(const EventEngine::ResolvedAddress& address) {
  const sockaddr* const any = address.address();
  char text[INET6_ADDRSTRLEN] = "";
  switch (any->sa_family) {
    case AF_INET: {
      const auto& v4 = *reinterpret_cast<const sockaddr_in*>(any);
      inet_ntop(AF_INET, &v4.sin_addr, text, sizeof(text));
      return absl::StrCat("ipv4:", text, ":", ntohs(v4.sin_port));
    }
    case AF_INET6: {
      const auto& v6 = *reinterpret_cast<const sockaddr_in6*>(any);
      if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
        inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text, sizeof(text));
        return absl::StrCat("ipv4:", text, ":", ntohs(v6.sin6_port));
      }
      inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof(text));
      return absl::StrCat("ipv6:%5B", text, "%5D:", ntohs(v6.sin6_port));
    }
    case AF_UNIX:
      return UnixText(*reinterpret_cast<const sockaddr_un*>(any), address.size());
    default:
      return absl::StrCat("family ", any->sa_family);
  }
}

connect::Route RouteOf(const EventEngine::Endpoint& endpoint) {
  return {.local = Copy(endpoint.GetLocalAddress()), .peer = Copy(endpoint.GetPeerAddress())};
}

}  // namespace skein::grpc_transport
