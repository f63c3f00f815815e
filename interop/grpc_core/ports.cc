// Ports for gRPC's cases, in place of test/core/util/port.cc: that one asks a server of gRPC's, which listens on one
// port for a whole machine.

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

#include "test/core/util/port.h"

namespace {

// A socket that is bound to a port of the kernel's choice, which is then in `port`; -1: there is none.
int BindAny(int family, int& port) {
  const int socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  const int on = 1;
  sockaddr_storage address = {};
  address.ss_family = static_cast<sa_family_t>(family);
  socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (::setsockopt(socket, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) != 0 ||
      ::bind(socket, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    ::close(socket);
    return -1;
  }
  port = ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);  // where sockaddr_in6 has it, too
  return socket;
}

// A chosen port stays bound here, so that the kernel gives it to no other process that asks for any port. gRPC's
// servers bind it all the same, by SO_REUSEPORT. Nobody listens on the socket here, so it takes no connection from
// them.
class Ports {
 public:
  // 0: there is none.
  int Choose() {
    int port = 0;
    int socket = BindAny(AF_INET6, port);             // IPv4's port of that number is taken with it
    if (socket < 0) socket = BindAny(AF_INET, port);  // a kernel without IPv6
    if (socket < 0) return 0;
    const std::lock_guard lock(mu_);
    sockets_[port] = socket;
    return port;
  }

  void GiveBack(int port) {
    const std::lock_guard lock(mu_);
    const auto found = sockets_.find(port);
    if (found == sockets_.end()) {
      std::fprintf(stderr, "port %d was never chosen\n", port);
      std::abort();
    }
    ::close(found->second);
    sockets_.erase(found);
  }

 private:
  std::mutex mu_;
  std::map<int, int> sockets_;  // by port
};

Ports& ChosenPorts() {
  static Ports& ports = *new Ports;
  return ports;
}

}  // namespace

int grpc_pick_unused_port() { return ChosenPorts().Choose(); }

int grpc_pick_unused_port_or_die() {
  const int port = grpc_pick_unused_port();
  if (port == 0) {
    std::perror("no port for a case");
    std::abort();
  }
  return port;
}

void grpc_recycle_unused_port(int port) { ChosenPorts().GiveBack(port); }
