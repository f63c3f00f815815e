// Preloaded, makes a program's TCP connections SMC-R's where both ends have it, as smc-tools' library does, which
// Debian has not. SMC-R over RoCE v2 is for IPv4: IPv6 is refused, so that programs do not listen for both at once.
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

namespace {

constexpr int kTypeMask = 0xf;  // without SOCK_NONBLOCK, SOCK_CLOEXEC
constexpr int kSmcOverIpv4 = 0;

using Socket = int(int domain, int type, int protocol);

}  // namespace

extern "C" __attribute__((visibility("default"))) int socket(int domain, int type, int protocol) noexcept {
  static Socket* const next = reinterpret_cast<Socket*>(dlsym(RTLD_NEXT, "socket"));
  const bool tcp = (type & kTypeMask) == SOCK_STREAM && (protocol == 0 || protocol == IPPROTO_TCP);
  if (tcp && domain == AF_INET6) {
    errno = EAFNOSUPPORT;
    return -1;
  }
  return tcp && domain == AF_INET ? next(AF_SMC, type, kSmcOverIpv4) : next(domain, type, protocol);
}
