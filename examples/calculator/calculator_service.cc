#include "examples/calculator/calculator_service.h"

#include <signal.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>
#include <unistd.h>

#include <iostream>
#include <numeric>
#include <thread>
#include <utility>

namespace skein::examples {
namespace {

using apache::thrift::protocol::TBinaryProtocolFactory;
using apache::thrift::server::TServerEventHandler;
using apache::thrift::server::TThreadedServer;
using apache::thrift::transport::TBufferedTransportFactory;
using apache::thrift::transport::TServerSocket;

class SayPort final : public TServerEventHandler {
 public:
  explicit SayPort(std::shared_ptr<TServerSocket> socket) : socket_(std::move(socket)) {}
  void preServe() override { std::cout << "listening on " << socket_->getPort() << std::endl; }

 private:
  const std::shared_ptr<TServerSocket> socket_;
};

}  // namespace

int64_t CalculatorHandler::add(int64_t left, int64_t right) { return left + right; }

int64_t CalculatorHandler::sum(const std::vector<int64_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), int64_t{0});
}

void CalculatorHandler::echo(std::string& result, const std::string& payload) { result = payload; }

int ServeUntilSignal(const std::shared_ptr<TServerSocket>& socket) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);  // inherited by the server's threads: only sigwait below takes them

  TThreadedServer server(std::make_shared<CalculatorProcessor>(std::make_shared<CalculatorHandler>()), socket,
                         std::make_shared<TBufferedTransportFactory>(), std::make_shared<TBinaryProtocolFactory>());
  server.setServerEventHandler(std::make_shared<SayPort>(socket));
  int status = 0;
  std::thread serving([&] {
    try {
      server.serve();
    } catch (const apache::thrift::TException& error) {
      std::cerr << "cannot serve: " << error.what() << std::endl;
      status = 1;
      kill(getpid(), SIGTERM);
    }
  });
  int signal = 0;
  sigwait(&stop, &signal);
  server.stop();
  serving.join();
  return status;
}

}  // namespace skein::examples
