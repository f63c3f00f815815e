#include "core/base/socket_message.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace skein {
namespace {

bool PeerIsGone(int error) {
  return error == EPIPE || error == ECONNRESET || error == ECONNREFUSED || error == ENOTCONN;
}

// Looked at, and not yet taken.
ssize_t Peek(int socket, msghdr& header) {
  ssize_t received = 0;
  do {
    received = recvmsg(socket, &header, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  return received;
}

}  // namespace

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
  if (errno == EAGAIN || errno == EWOULDBLOCK) return SendResult::kFull;
  if (errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS) return SendResult::kNoMemory;
  return PeerIsGone(errno) ? SendResult::kGone : SendResult::kRefused;
}

void TakeOut(int socket) {
  msghdr header = {};
  while (recvmsg(socket, &header, MSG_DONTWAIT) < 0 && errno == EINTR) {
  }
}

ReceiveResult ReceiveMessage(int socket, SocketMessage& message) {
  iovec vector = {message.bytes, sizeof(message.bytes)};
  // Space for two: a sender that passes a second one is found out before it is anybody's to close.
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
  msghdr header = {};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = CMSG_LEN(2 * sizeof(int));
  const ssize_t received = Peek(socket, header);
  if (received < 0) {
    const bool empty = errno == EAGAIN || errno == EWOULDBLOCK;
    return empty ? ReceiveResult::kEmpty : PeerIsGone(errno) ? ReceiveResult::kGone : ReceiveResult::kRefused;
  }
  Closer::Get().Close(std::move(message.fd));
  size_t passed = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = CMSG_LEN(0); at + sizeof(int) <= part->cmsg_len; at += sizeof(int), ++passed) {
      int fd = -1;
      std::memcpy(&fd, reinterpret_cast<const char*>(part) + at, sizeof(fd));
      Closer::Get().Close(std::exchange(message.fd, UniqueFd(fd)));
    }
  }
  message.size = static_cast<size_t>(received);
  message.lost_descriptor = (header.msg_flags & MSG_CTRUNC) != 0 && passed == 0;
  message.truncated = passed > 1 || ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 && !message.lost_descriptor);
  // Its descriptor goes, but not for the last time: the one that was peeked at is here.
  if (!message.truncated && !message.lost_descriptor) TakeOut(socket);
  return message.size == 0 ? ReceiveResult::kGone : ReceiveResult::kMessage;  // we never send empty messages
}

}  // namespace skein
