#include "core/service/listeners.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/abstract_socket.h"
#include "core/base/errno_status.h"
#include "core/base/tcp_address.h"
#include "core/fabric/service/session.h"
#include "core/service/predecessor.h"
#include "core/service/service.h"

namespace skein::service {
namespace {

// ALREADY_EXISTS: another skeind does.
absl::Status CheckNobodyListensAt(const std::string& path) {
  const absl::StatusOr<UniqueFd> other = ConnectToPath(path);
  if (absl::IsNotFound(other.status())) return absl::OkStatus();
  if (!other.ok()) return absl::Status(other.status().code(), absl::StrCat(path, ": ", other.status().message()));
  const absl::StatusOr<PeerCredentials> who = CredentialsOf(other->get());
  return absl::AlreadyExistsError(
      absl::StrCat("another skeind", who.ok() && who->pid != 0 ? absl::StrCat(", process ", who->pid, ",") : "",
                   " listens at ", path, "; --replace takes its place"));
}

absl::StatusOr<UniqueFd> ListenForProcesses(const std::string& path) {
  unlink(path.c_str());  // a killed one's
  absl::StatusOr<UniqueFd> listening = ListenAtPath(path);
  if (absl::IsNotFound(listening.status())) {
    const absl::string_view folder = absl::string_view(path).substr(0, path.rfind('/'));
    return absl::NotFoundError(absl::StrCat("there is no folder ", folder, "; make it: install -d -m 755 ", folder));
  }
  if (!listening.ok()) {
    return absl::Status(listening.status().code(), absl::StrCat(path, ": ", listening.status().message()));
  }
  // Which users may come, the folder's permissions say.
  if (chmod(path.c_str(), 0666) != 0) return ErrnoStatus(errno, absl::StrCat("let processes use ", path));
  return listening;
}

absl::StatusOr<UniqueFd> ListenOnTcp(const addrinfo& address) {
  UniqueFd fd(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return ErrnoStatus(errno, "create a TCP socket");
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(fd.get(), address.ai_addr, address.ai_addrlen) != 0) {
    const int error = errno;
    return ErrnoStatus(error,
                       absl::StrCat("listen for other hosts' skeinds at ",
                                    NumericAddress(address.ai_addr, address.ai_addrlen).value_or("its address"),
                                    error == EADDRINUSE ? " (--port takes another, the same at all hosts)" : ""));
  }
  if (listen(fd.get(), 128) != 0) return ErrnoStatus(errno, "listen for other hosts' skeinds");
  return fd;
}

// Whether the socket `fd`, if there is one, listens at that address.
bool ListensAt(int fd, const addrinfo& address) {
  sockaddr_storage own = {};
  socklen_t size = sizeof(own);
  return fd >= 0 && getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0 && size == address.ai_addrlen &&
         std::memcmp(&own, address.ai_addr, size) == 0;
}

absl::StatusOr<uint16_t> PortOf(int socket) {
  sockaddr_storage own = {};
  socklen_t size = sizeof(own);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0) return ErrnoStatus(errno, "getsockname");
  return ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(own).sin6_port
                                         : reinterpret_cast<sockaddr_in&>(own).sin_port);
}

}  // namespace

// Two skeinds that begin at once, at one port: the one that has the port takes the path.
absl::StatusOr<Listeners> Listen(const ServiceOptions& options, const Predecessor* predecessor) {
  using fabric::service::Listener;
  const std::string path = absl::StrCat(options.folder, "/", fabric::service::kSocketName);
  const bool has_path = predecessor != nullptr || options.listening >= 0;
  if (absl::Status free = has_path ? absl::OkStatus() : CheckNobodyListensAt(path); !free.ok()) return free;
  UniqueFd inherited;
  if (predecessor != nullptr) {
    absl::StatusOr<UniqueFd> listener = predecessor->Listener(Listener::kSkeinds);
    if (!listener.ok()) return listener.status();
    inherited = *std::move(listener);
  }
  absl::StatusOr<UniqueFd> skeinds =
      OpenFirst(options.trunk_address, absl::StrCat(options.trunk_port), AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
                [&inherited](const addrinfo& address) -> absl::StatusOr<UniqueFd> {
                  if (ListensAt(inherited.get(), address)) return std::move(inherited);
                  return ListenOnTcp(address);
                });
  if (!skeinds.ok()) return skeinds.status();
  absl::StatusOr<UniqueFd> processes = options.listening >= 0   ? UniqueFd(options.listening)
                                       : predecessor != nullptr ? predecessor->Listener(Listener::kProcesses)
                                                                : ListenForProcesses(path);
  if (!processes.ok()) return processes.status();
  // systemd's waits, unless its unit says otherwise.
  const int flags = fcntl(processes->get(), F_GETFL);
  if (flags < 0 || fcntl(processes->get(), F_SETFL, flags | O_NONBLOCK) != 0 ||
      fcntl(processes->get(), F_SETFD, FD_CLOEXEC) != 0) {
    return ErrnoStatus(errno, "use the socket that listens for processes");
  }
  const absl::StatusOr<uint16_t> port = PortOf(skeinds->get());
  if (!port.ok()) return port.status();
  return Listeners{*std::move(processes), *std::move(skeinds), *port};
}

}  // namespace skein::service
