#include "thrift_transport/tskein_nonblocking_server_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <thrift/Thrift.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/base/errno_status.h"
#include "core/base/options.h"
#include "thrift_transport/acceptor.h"
#include "thrift_transport/hello.h"
#include "thrift_transport/polled_socket.h"

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

void TSkeinNonblockingServerSocket::forgetPair() {
  if (tell_ != THRIFT_INVALID_SOCKET) ::close(tell_);
  if (ready_ != THRIFT_INVALID_SOCKET && !given_) ::close(ready_);
  tell_ = ready_ = THRIFT_INVALID_SOCKET;
  given_ = false;
}

void TSkeinNonblockingServerSocket::listen() {
  const Options& options = options_.get();
  CheckAddress(options, isUnixDomainSocket());
  if (acceptor_ != nullptr) close();
  forgetPair();
  TNonblockingServerSocket::listen();
  if (options.mode == Mode::kOff) return;
  const std::string why = startAcceptor();
  if (why.empty()) return;
  forgetPair();
  if (options.mode != Mode::kRequire) {
    apache::thrift::GlobalOutput.printf("skein: connections to this server stay on TCP: %s", why.c_str());
    return;
  }
  close();
  throw TTransportException(TTransportException::NOT_OPEN, "skein: " + why);
}

std::string TSkeinNonblockingServerSocket::startAcceptor() {
  THRIFT_SOCKET pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
    return std::string(ErrnoStatus(errno, "make a pair of sockets").message());
  }
  tell_ = pair[0];
  ready_ = pair[1];
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
  TNonblockingServerSocket::close();
}

THRIFT_SOCKET TSkeinNonblockingServerSocket::getSocketFD() {
  if (acceptor_ == nullptr) return TNonblockingServerSocket::getSocketFD();
  given_ = true;
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
