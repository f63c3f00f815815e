#include "core/connect/tcp.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"
#include "core/base/tcp_address.h"
#include "core/wire/bytes.h"

namespace skein::connect {
namespace {

constexpr size_t kLetters = 4;
constexpr size_t kFrameHeader = kLetters + sizeof(uint16_t);

void Set(int fd, int level, int option) {
  const int on = 1;
  setsockopt(fd, level, option, &on, sizeof(on));
}

absl::Status Await(int fd, int16_t events, Deadline deadline) {
  pollfd waits{fd, events, 0};
  for (;;) {
    const int ready = poll(&waits, 1, TimeoutOf(deadline));
    if (ready > 0) return absl::OkStatus();
    if (ready == 0) return absl::DeadlineExceededError("no answer in time");
    if (errno != EINTR) return ErrnoStatus(errno, "wait for a connection");
  }
}

absl::Status Connect(int fd, const addrinfo& to, absl::string_view address, Deadline deadline) {
  if (::connect(fd, to.ai_addr, to.ai_addrlen) == 0) return absl::OkStatus();
  int error = errno;
  if (error == EINPROGRESS) {
    if (absl::Status status = Await(fd, POLLOUT, deadline); !status.ok()) return status;
    socklen_t size = sizeof(error);
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error == 0) return absl::OkStatus();
  return absl::UnavailableError(ErrnoStatus(error, absl::StrCat("connect to ", address)).message());
}

// A socket for that address, with which `use` has succeeded.
absl::StatusOr<UniqueFd> Open(const addrinfo& address, absl::FunctionRef<absl::Status(int)> use) {
  UniqueFd fd(socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!fd.valid()) return ErrnoStatus(errno, "make a socket");
  if (absl::Status status = use(fd.get()); !status.ok()) return status;
  return fd;
}

}  // namespace

absl::StatusOr<UniqueFd> ConnectTcp(absl::string_view address, Deadline deadline) {
  absl::StatusOr<UniqueFd> fd = OpenFirst(address, 0, [&](const addrinfo& to) {
    return Open(to, [&](int socket) { return Connect(socket, to, address, deadline); });
  });
  if (fd.ok()) Set(fd->get(), IPPROTO_TCP, TCP_NODELAY);
  return fd;
}

absl::StatusOr<UniqueFd> ListenTcp(absl::string_view address) {
  constexpr int kWaiting = 128;
  return OpenFirst(address, AI_PASSIVE, [&](const addrinfo& at) {
    return Open(at, [&](int fd) {
      Set(fd, SOL_SOCKET, SO_REUSEADDR);
      if (bind(fd, at.ai_addr, at.ai_addrlen) != 0 || listen(fd, kWaiting) != 0) {
        return ErrnoStatus(errno, absl::StrCat("listen on ", address));
      }
      return absl::OkStatus();
    });
  });
}

absl::StatusOr<std::optional<UniqueFd>> AcceptTcp(int listener) {
  UniqueFd fd(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd.valid()) {
    Set(fd.get(), IPPROTO_TCP, TCP_NODELAY);
    return std::optional<UniqueFd>(std::move(fd));
  }
  // One that was given up before it was accepted is the others' business no more than a signal is.
  if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return std::optional<UniqueFd>();
  return ErrnoStatus(errno, "accept a connection");
}

absl::StatusOr<std::optional<std::string>> FrameReader::Read(int fd) {
  char chunk[2048];
  for (ssize_t got; (got = recv(fd, chunk, sizeof(chunk), 0)) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno != EAGAIN) return absl::UnavailableError(ErrnoStatus(errno, "receive").message());
    if (got < 0) return std::optional<std::string>();
    bytes_.append(chunk, static_cast<size_t>(got));
    const absl::string_view beginning = absl::string_view(bytes_).substr(0, kLetters);
    if (!absl::StartsWith(letters_, beginning)) return absl::DataLossError("the other end speaks another protocol");
    if (bytes_.size() < kFrameHeader) continue;
    wire::FieldReader reader(absl::string_view(bytes_).substr(kLetters));
    const auto size = reader.Take<uint16_t>();
    if (size > max_payload_ || bytes_.size() > kFrameHeader + size) {
      return absl::DataLossError("the other end breaks the negotiation");
    }
    if (bytes_.size() == kFrameHeader + size) return std::optional<std::string>(reader.TakeBytes(size));
  }
  return absl::UnavailableError("the other end closed the connection");
}

absl::Status SendFrame(int fd, absl::string_view letters, absl::string_view payload) {
  std::string frame(letters);
  wire::Put(frame, static_cast<uint16_t>(payload.size()));
  frame.append(payload.data(), payload.size());
  if (send(fd, frame.data(), frame.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(frame.size())) return absl::OkStatus();
  return absl::UnavailableError("the other end closed the connection");
}

absl::StatusOr<std::string> ReceiveFrame(int fd, absl::string_view letters, size_t max_payload, Deadline deadline) {
  FrameReader reader(letters, max_payload);
  for (;;) {
    if (absl::Status status = Await(fd, POLLIN, deadline); !status.ok()) return status;
    absl::StatusOr<std::optional<std::string>> frame = reader.Read(fd);
    if (!frame.ok()) return frame.status();
    if (frame->has_value()) return **std::move(frame);
  }
}

}  // namespace skein::connect
