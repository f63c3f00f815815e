#include <skein/thrift/server_socket.h>
#include <skein/thrift/socket.h>
#include <thrift/TOutput.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

#include "absl/strings/match.h"
#include "core/base/options.h"
#include "thrift_transport/accept_retry_delay.h"
#include "thrift_transport/hello.h"

namespace skein::thrift_transport {

using apache::thrift::transport::TSocket;
using apache::thrift::transport::TTransportException;

namespace {

// Thrift keeps an error's text alone.
bool PassesByItself(const TTransportException& error) {
  constexpr std::array kPassing = {EMFILE, ENFILE, ENOBUFS, ENOMEM, ECONNABORTED};
  return error.getType() == TTransportException::UNKNOWN &&
         std::any_of(kPassing.begin(), kPassing.end(), [&error](int code) {
           return absl::EndsWith(error.what(), apache::thrift::TOutput::strerror_s(code));
         });
}

}  // namespace

TSkeinServerSocket::TSkeinServerSocket(int port, const TSkeinOptions& options)
    : TServerSocket(port), options_(options) {}
TSkeinServerSocket::TSkeinServerSocket(int port, int sendTimeout, int recvTimeout, const TSkeinOptions& options)
    : TServerSocket(port, sendTimeout, recvTimeout), options_(options) {}
TSkeinServerSocket::TSkeinServerSocket(const std::string& address, int port, const TSkeinOptions& options)
    : TServerSocket(address, port), options_(options) {}
TSkeinServerSocket::TSkeinServerSocket(const std::string& path, const TSkeinOptions& options)
    : TServerSocket(path), options_(options) {}

void TSkeinServerSocket::listen() {
  CheckAddress(options_.get(), isUnixDomainSocket());
  TServerSocket::listen();
}

// TServerSocket's throws, and Thrift's servers end for ever, when once there is no descriptor.
std::shared_ptr<apache::thrift::transport::TTransport> TSkeinServerSocket::acceptImpl() {
  for (;;) {
    try {
      return TServerSocket::acceptImpl();
    } catch (const TTransportException& error) {
      if (!PassesByItself(error)) throw;
    }
    std::this_thread::sleep_for(kAcceptRetryDelay);
  }
}

std::shared_ptr<TSocket> TSkeinServerSocket::createSocket(THRIFT_SOCKET client) {
  const std::shared_ptr<THRIFT_SOCKET> interrupted = interruptableChildren_ ? pChildInterruptSockReader_ : nullptr;
  if (options_.get().mode == Mode::kOff) return TServerSocket::createSocket(client);
  auto socket = std::make_shared<TSkeinSocket>(client, interrupted, options_);
  if (!interruptableChildren_) return socket;
  const std::lock_guard lock(mutex_);
  // Those that have gone are forgotten when there are as many again: each costs a constant.
  if (children_.size() == children_.capacity()) {
    std::erase_if(children_, [](const auto& child) { return child.expired(); });
    children_.reserve(2 * children_.size() + 16);
  }
  children_.push_back(socket);
  return socket;
}

void TSkeinServerSocket::interruptChildren() {
  TServerSocket::interruptChildren();
  const std::lock_guard lock(mutex_);
  for (const std::weak_ptr<TSkeinSocket>& child : children_) {
    if (const std::shared_ptr<TSkeinSocket> socket = child.lock()) socket->interrupt();
  }
}

}  // namespace skein::thrift_transport
