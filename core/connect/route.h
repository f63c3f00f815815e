// The addresses of the connection that carries a negotiation: what is known of the peer before a word is said.
#ifndef SKEIN_CORE_CONNECT_ROUTE_H_
#define SKEIN_CORE_CONNECT_ROUTE_H_

#include <sys/socket.h>

#include "core/wire/negotiation.h"

namespace skein::connect {

struct Route {
  sockaddr_storage local = {};  // ss_family is 0 where it is not known
  sockaddr_storage peer = {};
};

// Of a socket that is connected or about to be; of anything else, nothing is known. (gRPC 1.51 now and then takes a
// connection for made that is still being made: its epoll1 engine processes events one at a time, and what was said of
// a descriptor that has been closed meanwhile reaches the next one that is given the same object.)
Route RouteOf(int fd);

// Whether a socket's connection has been made, and not failed since.
bool IsConnected(int fd);

// Whether nothing is to be read of the socket any more but its end, or an error. Does not wait.
bool HasEnded(int fd);

// Whether the addresses leave it possible that the peer is on this host: UNIX sockets, loopback, this host's own
// address of the connection, and whatever is no IP connection (the fabric will judge).
bool MayBeSameHost(const Route& route);

wire::ConnectionEnd EndOf(const sockaddr_storage& address);

}  // namespace skein::connect

#endif  // SKEIN_CORE_CONNECT_ROUTE_H_
