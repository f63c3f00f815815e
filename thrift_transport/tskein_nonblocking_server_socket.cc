#include <fcntl.h>
#include <skein/thrift/nonblocking_server_socket.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/base/errno_status.h"
#include "core/base/options.h"
#include "thrift_transport/acceptor.h"
#include "thrift_transport/hello.h"
#include "thrift_transport/polled_socket.h"
#include "thrift_transport/thrift_output.h"

namespace skein::thrift_transport {

using apache::thrift::transport::TSocket;
using apache::thrift::transport::TTransportException;

TSkeinNonblockingServerSocket::TSkeinNonblockingServerSocket(int port, const TSkeinOptions& options)
    : TNonblockingServerSocket(port), options_(options) {}
TSkeinNonblockingServerSocket::TSkeinNonblockingServerSocket(int port, int sendTimeout, int recvTimeout,
                                                             const TSkeinOptions& options)
    : TNonblockingServerSocket(port, sendTimeout, recvTimeout), options_(options) {}
TSkeinNonblockingServerSocket::TSkeinNonblockingServerSocket(const std::string& address, int port,
                                                             const TSkeinOptions& options)
    : TNonblockingServerSocket(address, port), options_(options) {}
TSkeinNonblockingServerSocket::TSkeinNonblockingServerSocket(const std::string& path, const TSkeinOptions& options)
    : TNonblockingServerSocket(path), options_(options) {}
TSkeinNonblockingServerSocket::~TSkeinNonblockingServerSocket() {
  close();
  forgetPair();
}

// A server may have closed it, and something else may have its number since. No two sockets that are open have one
// inode.
bool TSkeinNonblockingServerSocket::readyIsOurs() const {
  struct stat now = {};
  return ready_ != THRIFT_INVALID_SOCKET && fstat(ready_, &now) == 0 && S_ISSOCK(now.st_mode) &&
         now.st_ino == readyInode_;
}

std::string TSkeinNonblockingServerSocket::makePair() {
  THRIFT_SOCKET pair[2];
  struct stat made = {};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
    return std::string(ErrnoStatus(errno, "make a pair of sockets").message());
  }
  tell_ = pair[0];
  ready_ = pair[1];
  if (fstat(ready_, &made) != 0) return std::string(ErrnoStatus(errno, "look at a socket").message());
  readyInode_ = made.st_ino;
  return "";
}

void TSkeinNonblockingServerSocket::forgetPair() {
  if (readyIsOurs()) ::close(ready_);
  if (tell_ != THRIFT_INVALID_SOCKET) ::close(tell_);
  tell_ = ready_ = THRIFT_INVALID_SOCKET;
}

void TSkeinNonblockingServerSocket::listen() {
  const Options& options = options_.get();
  CheckAddress(options, isUnixDomainSocket());
  if (acceptor_ != nullptr) close();
  TNonblockingServerSocket::listen();
  if (options.mode == Mode::kOff) return;
  const std::string why = startAcceptor();
  if (why.empty()) return;
  forgetPair();
  if (options.mode != Mode::kRequire) {
    ThriftOutput().printf("skein: connections to this server stay on TCP: %s", why.c_str());
    return;
  }
  close();
  throw TTransportException(TTransportException::NOT_OPEN, "skein: " + why);
}

std::string TSkeinNonblockingServerSocket::startAcceptor() {
  // A pair that a server may still poll, and will close, serves on.
  if (!readyIsOurs()) {
    forgetPair();
    if (std::string why = makePair(); !why.empty()) return why;
  }
  absl::StatusOr<std::unique_ptr<Acceptor>> acceptor = Acceptor::Start(
      TNonblockingServerSocket::getSocketFD(),
      [this] { return std::static_pointer_cast<PolledSocket>(TNonblockingServerSocket::acceptImpl()); }, options_.get(),
      tell_, ready_);
  if (!acceptor.ok()) return std::string(acceptor.status().message());
  acceptor_ = *std::move(acceptor);
  return "";
}

void TSkeinNonblockingServerSocket::close() {
  acceptor_ = nullptr;
  // What was to be accepted is not there any more.
  for (char byte = 0; readyIsOurs() && recv(ready_, &byte, 1, 0) > 0;) {
  }
  TNonblockingServerSocket::close();
}

THRIFT_SOCKET TSkeinNonblockingServerSocket::getSocketFD() {
  if (acceptor_ == nullptr) return TNonblockingServerSocket::getSocketFD();
  return ready_;
}

std::shared_ptr<TSocket> TSkeinNonblockingServerSocket::acceptImpl() {
  if (acceptor_ == nullptr) return TNonblockingServerSocket::acceptImpl();
  std::shared_ptr<TSocket> socket = acceptor_->Take();
  if (socket == nullptr) throw TTransportException(TTransportException::TIMED_OUT, "nobody to accept");
  return socket;
}

std::shared_ptr<TSocket> TSkeinNonblockingServerSocket::createSocket(THRIFT_SOCKET client) {
  if (options_.get().mode == Mode::kOff) return TNonblockingServerSocket::createSocket(client);
  fcntl(client, F_SETFD, FD_CLOEXEC);
  return std::make_shared<PolledSocket>(client);
}

}  // namespace skein::thrift_transport
