#include "core/fabric/shm/socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/errno_status.h"

namespace skein::fabric::shm {
namespace {

constexpr int kBacklog = 4096;  // the kernel caps it at net.core.somaxconn

struct AbstractAddress {
  sockaddr_un address = {};
  socklen_t size = 0;

  explicit AbstractAddress(absl::string_view name) {
    address.sun_family = AF_UNIX;
    const size_t length = std::min(name.size(), sizeof(address.sun_path) - 1);
    std::memcpy(address.sun_path + 1, name.data(), length);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

absl::StatusOr<UniqueFd> NewSocket() {
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return ErrnoStatus(errno, "create a UNIX socket");
  return fd;
}

}  // namespace

absl::StatusOr<UniqueFd> ListenAbstract(absl::string_view name) {
  absl::StatusOr<UniqueFd> fd = NewSocket();
  if (!fd.ok()) return fd;
  const AbstractAddress address(name);
  if (bind(fd->get(), address.get(), address.size) != 0) return ErrnoStatus(errno, "bind a UNIX socket");
  if (listen(fd->get(), kBacklog) != 0) return ErrnoStatus(errno, "listen on a UNIX socket");
  return fd;
}

absl::StatusOr<UniqueFd> ConnectAbstract(absl::string_view name) {
  absl::StatusOr<UniqueFd> fd = NewSocket();
  if (!fd.ok()) return fd;
  const AbstractAddress address(name);
  if (connect(fd->get(), address.get(), address.size) != 0) {
    return absl::UnavailableError(ErrnoStatus(errno, "connect to the peer's UNIX socket").message());
  }
  return fd;
}

UniqueFd AcceptQueued(int listening_fd) {
  int fd = -1;
  do {
    fd = accept4(listening_fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  } while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
  return UniqueFd(fd);
}

absl::StatusOr<PeerCredentials> CredentialsOf(int fd) {
  ucred credentials = {};
  socklen_t size = sizeof(credentials);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return ErrnoStatus(errno, "ask who the peer is");
  }
  return PeerCredentials{credentials.pid, credentials.uid};
}

SendResult SendMessage(int socket, absl::string_view bytes, int fd) {
  iovec vector = {const_cast<char*>(bytes.data()), bytes.size()};
  msghdr header = {};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (fd >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return SendResult::kSent;
  const bool full = errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ETOOMANYREFS;
  return full ? SendResult::kFull : SendResult::kGone;
}

ReceiveResult ReceiveMessage(int socket, Message& message) {
  iovec vector = {message.bytes, sizeof(message.bytes)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr header = {};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = CMSG_LEN(sizeof(int));  // not CMSG_SPACE: its padding would have room for a second one
  ssize_t received = 0;
  do {
    received = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? ReceiveResult::kEmpty : ReceiveResult::kGone;
  message.fd.Reset();
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(part), sizeof(fd));
    message.fd = UniqueFd(fd);
  }
  message.size = static_cast<size_t>(received);
  message.truncated = (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
  return message.size == 0 ? ReceiveResult::kGone : ReceiveResult::kMessage;  // we never send empty messages
}

}  // namespace skein::fabric::shm
