#include "core/fabric/shm/socket.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace skein::fabric::shm {
namespace {

bool PeerIsGone(int error) {
  return error == EPIPE || error == ECONNRESET || error == ECONNREFUSED || error == ENOTCONN;
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
  const bool full = errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ETOOMANYREFS;
  return full ? SendResult::kFull : PeerIsGone(errno) ? SendResult::kGone : SendResult::kRefused;
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
  if (received < 0) {
    const bool empty = errno == EAGAIN || errno == EWOULDBLOCK;
    return empty ? ReceiveResult::kEmpty : PeerIsGone(errno) ? ReceiveResult::kGone : ReceiveResult::kRefused;
  }
  message.fd.Reset();
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(part), sizeof(fd));
    message.fd = UniqueFd(fd);
  }
  message.size = static_cast<size_t>(received);
  message.lost_descriptor = (header.msg_flags & MSG_CTRUNC) != 0 && !message.fd.valid();
  message.truncated = (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 && !message.lost_descriptor;
  return message.size == 0 ? ReceiveResult::kGone : ReceiveResult::kMessage;  // we never send empty messages
}

}  // namespace skein::fabric::shm
