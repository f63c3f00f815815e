#include "core/connect/route.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace skein::connect {
namespace {

bool Same(const sockaddr_storage& a, const sockaddr_storage& b) {
  if (a.ss_family != b.ss_family) return false;
  if (a.ss_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(a).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(b).sin_addr.s_addr;
  }
  if (a.ss_family == AF_INET6) {
    return std::memcmp(&reinterpret_cast<const sockaddr_in6&>(a).sin6_addr,
                       &reinterpret_cast<const sockaddr_in6&>(b).sin6_addr, sizeof(in6_addr)) == 0;
  }
  return true;
}

bool IsLoopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  if (address.ss_family != AF_INET6) return false;
  const in6_addr& ip = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&ip) || (IN6_IS_ADDR_V4MAPPED(&ip) && ip.s6_addr[12] == IN_LOOPBACKNET);
}

// getpeername() does not tell of a connection that is still being made. This does, if it is asked for no more bytes
// than an address of the family has.
bool FindPeerToBe(int fd, sockaddr_storage& peer, socklen_t size) {
  return errno == ENOTCONN && getsockopt(fd, SOL_SOCKET, SO_PEERNAME, &peer, &size) == 0;
}

}  // namespace

Route RouteOf(int fd) {
  Route route;
  socklen_t local_size = sizeof(route.local);
  socklen_t peer_size = sizeof(route.peer);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&route.local), &local_size) == 0 &&
      (getpeername(fd, reinterpret_cast<sockaddr*>(&route.peer), &peer_size) == 0 ||
       FindPeerToBe(fd, route.peer, local_size))) {
    return route;
  }
  return {};
}

bool IsConnected(int fd) {
  sockaddr_storage peer;
  socklen_t size = sizeof(peer);
  return getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
}

bool HasEnded(int fd) {
  char byte = 0;
  const ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

wire::ConnectionEnd EndOf(const sockaddr_storage& address) {
  sockaddr_in6 end = {};
  if (address.ss_family == AF_INET6) {
    end = reinterpret_cast<const sockaddr_in6&>(address);
  } else if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    end.sin6_addr.s6_addr[10] = end.sin6_addr.s6_addr[11] = 0xff;
    std::memcpy(&end.sin6_addr.s6_addr[12], &v4.sin_addr, sizeof(v4.sin_addr));
    end.sin6_port = v4.sin_port;
  }
  wire::ConnectionEnd bytes;
  std::memcpy(bytes.data(), &end.sin6_addr, sizeof(end.sin6_addr));
  std::memcpy(bytes.data() + sizeof(end.sin6_addr), &end.sin6_port, sizeof(end.sin6_port));
  return bytes;
}

bool MayBeSameHost(const Route& route) { return IsLoopback(route.peer) || Same(route.local, route.peer); }

}  // namespace skein::connect
