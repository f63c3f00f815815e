// The same of Thrift: a connection for each caller.
//   bench_durable_thrift [--skein] [--log=FILE] --callers=8 --bytes=64 --duration=1s
#include <skein/thrift/durable_processor.h>
#include <skein/thrift/durable_transport.h>
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
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/time/clock.h"
#include "bench/durable/calls_load.h"
#include "bench/server_process.h"
#include "bench/thrift/BenchEcho.h"

namespace skein::bench {
namespace {

using apache::thrift::TProcessor;
using apache::thrift::protocol::TBinaryProtocol;
using apache::thrift::protocol::TBinaryProtocolFactory;
using apache::thrift::server::TThreadedServer;
using apache::thrift::transport::TBufferedTransport;
using apache::thrift::transport::TBufferedTransportFactory;
using apache::thrift::transport::TServerSocket;
using apache::thrift::transport::TSocket;
using apache::thrift::transport::TTransport;
using apache::thrift::transport::TTransportFactory;
using namespace thrift_transport;  // NOLINT(google-build-using-namespace): each of its names begins with TSkein

bool Durable() { return !absl::GetFlag(FLAGS_log).empty(); }
TSkeinOptions Options() { return TSkeinOptions().set("mode", "require"); }

class Handler final : public BenchEchoIf {
 public:
  void Echo(std::string& reply, const std::string& payload) override { reply = payload; }
};

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

// In a process of its own, until it is killed.
int Serve(int port_fd) {
  try {
    const auto protocols = std::make_shared<TBinaryProtocolFactory>();
    std::shared_ptr<TProcessor> processor = std::make_shared<BenchEchoProcessor>(std::make_shared<Handler>());
    std::shared_ptr<TTransportFactory> layers = std::make_shared<TBufferedTransportFactory>();
    if (Durable()) {
      TSkeinDurableServerOptions options;
      options.path = absl::GetFlag(FLAGS_log);
      processor = std::make_shared<TSkeinDurableProcessor>(processor, protocols, options);
      layers = std::make_shared<TSkeinDurableTransportFactory>();
    }
    std::shared_ptr<TServerSocket> socket = std::make_shared<TServerSocket>("127.0.0.1", 0);
    if (absl::GetFlag(FLAGS_skein)) socket = std::make_shared<TSkeinServerSocket>("127.0.0.1", 0, Options());
    TThreadedServer server(processor, socket, layers, protocols);
    server.setServerEventHandler(std::make_shared<TellPort>(port_fd, socket));
    server.serve();
  } catch (const apache::thrift::TException& error) {
    std::cerr << error.what() << std::endl;
  }
  return 1;
}

std::shared_ptr<TTransport> Socket(int port) {
  if (!absl::GetFlag(FLAGS_skein)) return std::make_shared<TSocket>("127.0.0.1", port);
  return std::make_shared<TSkeinSocket>("127.0.0.1", port, Options());
}

class ThriftCaller final : public Caller {
 public:
  explicit ThriftCaller(int port) {
    if (Durable()) {
      durable_ = std::make_shared<TSkeinDurableTransport>([port] { return Socket(port); });
      durable_->onPersisted([this](const TSkeinPersisted& persisted) {
        times_->persisted.push_back(absl::Now() - start_);
        times_->level = persisted.level;
      });
    }
    const std::shared_ptr<TTransport> transport =
        Durable() ? durable_ : std::static_pointer_cast<TTransport>(std::make_shared<TBufferedTransport>(Socket(port)));
    client_ = std::make_unique<BenchEchoClient>(std::make_shared<TBinaryProtocol>(transport));
    transport->open();
  }

  void Call(const std::string& payload, CallTimes& times) override {
    times_ = &times;
    std::string reply;
    start_ = absl::Now();
    client_->Echo(reply, payload);
    times.replied.push_back(absl::Now() - start_);
    if (reply != payload) throw std::runtime_error("an echo of something else");
  }

 private:
  std::shared_ptr<TSkeinDurableTransport> durable_;
  std::unique_ptr<BenchEchoClient> client_;
  CallTimes* times_ = nullptr;  // of the call that is under way
  absl::Time start_;
};

}  // namespace
}  // namespace skein::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  skein::bench::ServerProcess server(skein::bench::Serve);
  const std::string port = server.Address();
  if (port.empty()) return 1;
  try {
    return skein::bench::MeasureCalls(
        [&port] { return std::make_unique<skein::bench::ThriftCaller>(std::stoi(port)); });
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
