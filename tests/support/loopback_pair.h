// Both ends of a TCP connection within this process.
#ifndef SKEIN_TESTS_SUPPORT_LOOPBACK_PAIR_H_
#define SKEIN_TESTS_SUPPORT_LOOPBACK_PAIR_H_

#include <netinet/in.h>
#include <sys/socket.h>

#include <utility>

#include "core/base/unique_fd.h"
#include "tests/support/require.h"

namespace skein {

inline std::pair<UniqueFd, UniqueFd> LoopbackPair() {
  UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  Require(::bind(listener.get(), any, size) == 0 && listen(listener.get(), 1) == 0, "a socket listens");
  Require(getsockname(listener.get(), any, &size) == 0, "it has a name");
  UniqueFd active(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  Require(::connect(active.get(), any, size) == 0, "it is connected to");
  return {std::move(active), UniqueFd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC))};
}

}  // namespace skein

#endif  // SKEIN_TESTS_SUPPORT_LOOPBACK_PAIR_H_
