#include "bench/durable/thrift_ends.h"

#include <skein/thrift/durable_processor.h>
#include <skein/thrift/durable_transport_factory.h>
#include <skein/thrift/server_socket.h>
#include <skein/thrift/socket.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TServerSocket.h>
#include <thrift/transport/TSocket.h>
#include <unistd.h>

#include <iostream>
#include <utility>

namespace skein::bench {
namespace {

using apache::thrift::TProcessor;
using apache::thrift::protocol::TBinaryProtocolFactory;
using apache::thrift::transport::TServerSocket;
using apache::thrift::transport::TTransport;
using apache::thrift::transport::TTransportFactory;
using namespace thrift_transport;  // NOLINT(google-build-using-namespace): each of its names begins with TSkein

TSkeinOptions Options() { return TSkeinOptions().set("mode", "require"); }

class TellPort final : public apache::thrift::server::TServerEventHandler {
 public:
  TellPort(int fd, std::shared_ptr<TServerSocket> socket) : fd_(fd), socket_(std::move(socket)) {}
  void preServe() override {
    const std::string port = std::to_string(socket_->getPort());
    if (write(fd_, port.data(), port.size()) < 0) _exit(1);
  }

 private:
  const int fd_;
  const std::shared_ptr<TServerSocket> socket_;
};

}  // namespace

int ServeThrift(const ThriftCarrier& carrier, std::shared_ptr<TProcessor> processor, int port_fd) {
  try {
    const auto protocols = std::make_shared<TBinaryProtocolFactory>();
    std::shared_ptr<TTransportFactory> layers =
        std::make_shared<apache::thrift::transport::TBufferedTransportFactory>();
    if (!carrier.log.empty()) {
      TSkeinDurableServerOptions options;
      options.path = carrier.log;
      options.replicas = carrier.replicas;
      processor = std::make_shared<TSkeinDurableProcessor>(processor, protocols, options);
      layers = std::make_shared<TSkeinDurableTransportFactory>();
    }
    std::shared_ptr<TServerSocket> socket = std::make_shared<TServerSocket>("127.0.0.1", 0);
    if (carrier.skein) socket = std::make_shared<TSkeinServerSocket>("127.0.0.1", 0, Options());
    apache::thrift::server::TThreadedServer server(processor, socket, layers, protocols);
    server.setServerEventHandler(std::make_shared<TellPort>(port_fd, socket));
    server.serve();
  } catch (const apache::thrift::TException& error) {
    std::cerr << error.what() << std::endl;
  }
  return 1;
}

std::shared_ptr<TTransport> ThriftSocket(const ThriftCarrier& carrier, int port) {
  if (!carrier.skein) return std::make_shared<apache::thrift::transport::TSocket>("127.0.0.1", port);
  return std::make_shared<TSkeinSocket>("127.0.0.1", port, Options());
}

}  // namespace skein::bench
