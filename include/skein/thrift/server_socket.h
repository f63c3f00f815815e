// Thrift's server socket for TSimpleServer, TThreadedServer and TThreadPoolServer: TServerSocket whose connections are
// TSkeinSockets. Clients with and without Skein come to the same port.
//
//     auto socket = std::make_shared<skein::thrift_transport::TSkeinServerSocket>(9090);
#ifndef SKEIN_THRIFT_SERVER_SOCKET_H_
#define SKEIN_THRIFT_SERVER_SOCKET_H_

#include <skein/export.h>
#include <skein/thrift/options.h>
#include <thrift/transport/TServerSocket.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace skein::thrift_transport {

class TSkeinSocket;

// As TServerSocket: interrupt and interruptChildren from any thread. Other than with TServerSocket, a server goes on
// when there was no descriptor or memory for a client: the client waits until there is.
class SKEIN_EXPORT TSkeinServerSocket : public apache::thrift::transport::TServerSocket {
 public:
  explicit TSkeinServerSocket(int port, const TSkeinOptions& options = {});
  TSkeinServerSocket(int port, int sendTimeout, int recvTimeout, const TSkeinOptions& options = {});
  TSkeinServerSocket(const std::string& address, int port, const TSkeinOptions& options = {});
  explicit TSkeinServerSocket(const std::string& path, const TSkeinOptions& options = {});

  // TTransportException (BAD_ARGS): an option is wrong.
  void listen() override;
  void interruptChildren() override;

 protected:
  std::shared_ptr<apache::thrift::transport::TTransport> acceptImpl() override;
  std::shared_ptr<apache::thrift::transport::TSocket> createSocket(THRIFT_SOCKET client) override;

 private:
  const TSkeinOptions options_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<TSkeinSocket>> children_;  // under mutex_
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_SERVER_SOCKET_H_
