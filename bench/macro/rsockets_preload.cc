// Preloaded before librspreload, adds what that lacks and gRPC and Thrift do not go without: accept4, close-on-exec and
// TCP_DEFER_ACCEPT (the last two are wishes; nothing here depends on them), and IPv4 addresses on IPv6 sockets: gRPC
// does without these where there is no IPv6.
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdarg>

#define SKEIN_EXPORT __attribute__((visibility("default")))

namespace {

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int UnlessUnsupported(int result) { return result == -1 && errno == EOPNOTSUPP ? 0 : result; }

}  // namespace

extern "C" {

SKEIN_EXPORT int socket(int domain, int type, int protocol) noexcept {
  static auto* const next = Next<int(int, int, int)>("socket");
  if (domain != AF_INET6) return next(domain, type, protocol);
  errno = EAFNOSUPPORT;
  return -1;
}

SKEIN_EXPORT int accept4(int fd, sockaddr* address, socklen_t* size, int flags) {
  static auto* const next = Next<int(int, sockaddr*, socklen_t*)>("accept");
  const int accepted = next(fd, address, size);
  if (accepted >= 0 && (flags & SOCK_NONBLOCK) != 0) fcntl(accepted, F_SETFL, O_NONBLOCK);
  return accepted;
}

SKEIN_EXPORT int fcntl(int fd, int command, ...) {
  static auto* const next = Next<int(int, int, ...)>("fcntl");
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);  // an int fits in it
  va_end(arguments);
  const int result = next(fd, command, argument);
  return command == F_GETFD || command == F_SETFD ? UnlessUnsupported(result) : result;
}

SKEIN_EXPORT int setsockopt(int fd, int level, int name, const void* value, socklen_t size) noexcept {
  static auto* const next = Next<int(int, int, int, const void*, socklen_t)>("setsockopt");
  const int result = next(fd, level, name, value, size);
  return level == IPPROTO_TCP && name == TCP_DEFER_ACCEPT ? UnlessUnsupported(result) : result;
}

}  // extern "C"
