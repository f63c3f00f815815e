#include "core/base/abstract_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/errno_status.h"

namespace skein {
namespace {

struct Address {
  sockaddr_un address = {};
  socklen_t size = 0;

  static Address Abstract(absl::string_view name) { return {name, 1}; }
  static Address Path(absl::string_view path) { return {path, 0}; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

 private:
  // Too long a text is cut, and then is another name.
  Address(absl::string_view text, size_t zeros_before) {
    address.sun_family = AF_UNIX;
    const size_t length = std::min(text.size(), sizeof(address.sun_path) - 1);
    std::memcpy(address.sun_path + zeros_before, text.data(), length);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }
};

absl::StatusOr<UniqueFd> NewSocket() {
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return ErrnoStatus(errno, "create a UNIX socket");
  return fd;
}

absl::StatusOr<UniqueFd> Listen(const Address& address) {
  absl::StatusOr<UniqueFd> fd = NewSocket();
  if (!fd.ok()) return fd;
  if (bind(fd->get(), address.get(), address.size) != 0) return ErrnoStatus(errno, "bind a UNIX socket");
  if (listen(fd->get(), kMostQueued) != 0) return ErrnoStatus(errno, "listen on a UNIX socket");
  return fd;
}

absl::StatusOr<UniqueFd> Connect(const Address& address) {
  absl::StatusOr<UniqueFd> fd = NewSocket();
  if (!fd.ok()) return fd;
  if (::connect(fd->get(), address.get(), address.size) != 0) {
    if (errno == ECONNREFUSED || errno == ENOENT) {
      return absl::NotFoundError("nobody listens at the peer's UNIX socket");
    }
    return absl::UnavailableError(ErrnoStatus(errno, "connect to the peer's UNIX socket").message());
  }
  return fd;
}

}  // namespace

absl::StatusOr<UniqueFd> ListenAbstract(absl::string_view name) { return Listen(Address::Abstract(name)); }
absl::StatusOr<UniqueFd> ConnectAbstract(absl::string_view name) { return Connect(Address::Abstract(name)); }
absl::StatusOr<UniqueFd> ListenAtPath(const std::string& path) { return Listen(Address::Path(path)); }
absl::StatusOr<UniqueFd> ConnectToPath(const std::string& path) { return Connect(Address::Path(path)); }

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

}  // namespace skein
