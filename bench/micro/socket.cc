#include "bench/micro/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"
#include "core/base/tcp_address.h"

namespace skein::bench {
namespace {

// A socket for that address, with which `use` has succeeded. Without SOCK_CLOEXEC and the like, which librspreload does
// not take for a socket of its own.
absl::StatusOr<UniqueFd> Open(const addrinfo& address, absl::FunctionRef<absl::Status(int)> use) {
  UniqueFd fd(socket(address.ai_family, SOCK_STREAM, IPPROTO_TCP));
  if (!fd.valid()) return ErrnoStatus(errno, "make a socket");
  if (absl::Status status = use(fd.get()); !status.ok()) return status;
  return fd;
}

void SetOption(int fd, int level, int option) {
  const int on = 1;
  setsockopt(fd, level, option, &on, sizeof(on));
}

absl::Status Gone() { return absl::UnavailableError("the other end closed the connection; it has said why"); }

}  // namespace

absl::StatusOr<Socket> Socket::Connect(absl::string_view address) {
  absl::StatusOr<UniqueFd> fd = OpenFirst(address, 0, [&](const addrinfo& to) {
    return Open(to, [&](int fd) {
      if (::connect(fd, to.ai_addr, to.ai_addrlen) != 0)
        return ErrnoStatus(errno, absl::StrCat("connect to ", address));
      SetOption(fd, IPPROTO_TCP, TCP_NODELAY);
      return absl::OkStatus();
    });
  });
  if (!fd.ok()) return fd.status();
  return Socket(*std::move(fd));
}

absl::StatusOr<Socket> Socket::Listen(absl::string_view address) {
  absl::StatusOr<UniqueFd> fd = OpenFirst(address, AI_PASSIVE, [&](const addrinfo& at) {
    return Open(at, [&](int fd) {
      SetOption(fd, SOL_SOCKET, SO_REUSEADDR);
      if (bind(fd, at.ai_addr, at.ai_addrlen) != 0 || listen(fd, 16) != 0) {
        return ErrnoStatus(errno, absl::StrCat("listen on ", address));
      }
      return absl::OkStatus();
    });
  });
  if (!fd.ok()) return fd.status();
  return Socket(*std::move(fd));
}

absl::StatusOr<Socket> Socket::Accept() const {
  UniqueFd fd(accept(fd_.get(), nullptr, nullptr));
  if (!fd.valid()) return ErrnoStatus(errno, "accept a connection");
  SetOption(fd.get(), IPPROTO_TCP, TCP_NODELAY);
  return Socket(std::move(fd));
}

absl::StatusOr<std::string> Socket::address() const { return AddressOf(fd()); }

bool Socket::of_the_kernel() const {
  struct stat about = {};
  return fstat(fd(), &about) == 0 && S_ISSOCK(about.st_mode);
}

absl::Status Socket::Send(absl::Span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EPIPE || errno == ECONNRESET ? Gone() : ErrnoStatus(errno, "send");
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return absl::OkStatus();
}

absl::Status Socket::Receive(absl::Span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t received = recv(fd(), bytes.data(), bytes.size(), 0);
    if (received < 0 && errno == EINTR) continue;
    if (received == 0 || (received < 0 && errno == ECONNRESET)) return Gone();
    if (received < 0) return ErrnoStatus(errno, "receive");
    bytes.remove_prefix(static_cast<size_t>(received));
  }
  return absl::OkStatus();
}

absl::Status Socket::SendText(absl::string_view text) {
  const auto size = static_cast<uint32_t>(text.size());
  absl::Status status = Send(absl::MakeConstSpan(reinterpret_cast<const std::byte*>(&size), sizeof(size)));
  if (status.ok()) status = Send(absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size()));
  return status;
}

absl::StatusOr<std::string> Socket::ReceiveText() {
  uint32_t size = 0;
  absl::Status status = Receive(absl::MakeSpan(reinterpret_cast<std::byte*>(&size), sizeof(size)));
  if (!status.ok()) return status;
  if (size > kMaxText) return absl::DataLossError("the other end is no bench_fabric");
  std::string text(size, '\0');
  status = Receive(absl::MakeSpan(reinterpret_cast<std::byte*>(text.data()), text.size()));
  if (!status.ok()) return status;
  return text;
}

}  // namespace skein::bench
