// A socket whose last close takes an hour, or until the other end is closed.
#ifndef SKEIN_TESTS_SUPPORT_LINGERING_H_
#define SKEIN_TESTS_SUPPORT_LINGERING_H_

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <utility>

#include "core/base/unique_fd.h"

namespace skein {

// A TCP connection that is full. Invalid ends: the host has no loopback device.
struct Lingering {
  Lingering() {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    const UniqueFd listening(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    UniqueFd connecting(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int few = 4096;
    setsockopt(listening.get(), SOL_SOCKET, SO_RCVBUF, &few, sizeof(few));
    setsockopt(connecting.get(), SOL_SOCKET, SO_SNDBUF, &few, sizeof(few));
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (bind(listening.get(), any, size) != 0 || listen(listening.get(), 1) != 0 ||
        getsockname(listening.get(), any, &size) != 0 || ::connect(connecting.get(), any, size) != 0) {
      return;
    }
    other_end = UniqueFd(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::array<char, 65536> bytes = {};
    while (send(connecting.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
    }
    const linger an_hour = {1, 3600};
    setsockopt(connecting.get(), SOL_SOCKET, SO_LINGER, &an_hour, sizeof(an_hour));
    end = std::move(connecting);
  }

  // Leaves it to whoever reads `socket`, or closes its other end. False: there it is gone, too.
  bool Pass(int socket) {
    char byte = 'x';
    iovec bytes = {&byte, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
    msghdr message = {};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = end.get();
    std::memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
    const bool sent = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
    if (sent) end.Reset();
    return sent;
  }

  UniqueFd end;
  UniqueFd other_end;
};

}  // namespace skein

#endif  // SKEIN_TESTS_SUPPORT_LINGERING_H_
