#include "tools/skein/doctor/connection.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/errno_status.h"
#include "core/base/tcp_address.h"

namespace skein::doctor {
namespace {

absl::Status AwaitReady(int fd, short events, absl::Time deadline) {  // NOLINT(google-runtime-int): poll(2) has it so
  for (;;) {
    const absl::Duration left = absl::Ceil(deadline - absl::Now(), absl::Milliseconds(1));
    if (left <= absl::ZeroDuration()) return absl::DeadlineExceededError("no answer in time");
    pollfd entry{fd, events, 0};
    const int ready = poll(&entry, 1, static_cast<int>(left / absl::Milliseconds(1)));
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return ErrnoStatus(errno, "wait for the peer");
  }
}

absl::StatusOr<UniqueFd> ConnectTo(const addrinfo& address, const std::string& numeric, absl::Time deadline) {
  UniqueFd fd(socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!fd.valid()) return ErrnoStatus(errno, "make a socket");
  const std::string what = absl::StrCat("connect to ", numeric);
  if (::connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0) return fd;
  if (errno != EINPROGRESS) return ErrnoStatus(errno, what);
  if (!AwaitReady(fd.get(), POLLOUT, deadline).ok()) return ErrnoStatus(ETIMEDOUT, what);
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return ErrnoStatus(error, what);
  return fd;
}

}  // namespace

absl::StatusOr<Connection> Connection::Open(const HostPort& target, absl::Time deadline) {
  std::string numeric;
  absl::StatusOr<UniqueFd> fd = OpenFirst(target.host, target.port, 0, [&](const addrinfo& address) {
    numeric = NumericAddress(address.ai_addr, address.ai_addrlen).value_or("?");
    return ConnectTo(address, numeric, deadline);
  });
  if (!fd.ok()) return fd.status();
  return Connection(*std::move(fd), numeric);
}

absl::Status Connection::Send(absl::string_view bytes, absl::Time deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
      return ErrnoStatus(errno, "send the offer");
    } else if (absl::Status status = AwaitReady(fd(), POLLOUT, deadline); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status Connection::Receive(std::string& bytes, absl::Time deadline) {
  for (;;) {
    char buffer[4096];
    const ssize_t received = recv(fd(), buffer, sizeof(buffer), 0);
    if (received == 0 || (received < 0 && errno == ECONNRESET)) {
      return absl::OutOfRangeError("the peer closed the connection");
    }
    if (received > 0) {
      bytes.append(buffer, static_cast<size_t>(received));
      return absl::OkStatus();
    }
    if (errno != EAGAIN && errno != EINTR) return ErrnoStatus(errno, "receive the answer");
    if (absl::Status status = AwaitReady(fd(), POLLIN, deadline); !status.ok()) return status;
  }
}

bool Connection::Readable() const {
  pollfd entry{fd(), POLLIN, 0};
  return poll(&entry, 1, /*timeout=*/0) == 1;
}

void Connection::Close(absl::Time deadline) {
  shutdown(fd(), SHUT_WR);
  std::string rest;
  while (rest.size() < (1 << 20) && Receive(rest, deadline).ok()) {
  }
  fd_.Reset();
}

}  // namespace skein::doctor
