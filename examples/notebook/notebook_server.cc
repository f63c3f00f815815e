// notebook_server HOST:PORT LOG FILE: writes lines into FILE by durable calls, whose redo log is LOG. What a crash left
// unfinished is written when it starts again. Ends upon SIGTERM or SIGINT.
#include <signal.h>
#include <skein/thrift/durable_processor.h>
#include <skein/thrift/durable_transport_factory.h>
#include <skein/thrift/server_socket.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/server/TThreadedServer.h>

#include <iostream>
#include <memory>
#include <thread>

#include "examples/calculator/address.h"
#include "examples/notebook/book.h"

namespace {

using apache::thrift::protocol::TBinaryProtocolFactory;
using apache::thrift::server::TServerEventHandler;
using apache::thrift::server::TThreadedServer;
using skein::examples::Book;
using skein::examples::NotebookProcessor;
using skein::thrift_transport::TSkeinDurableProcessor;
using skein::thrift_transport::TSkeinDurableServerOptions;
using skein::thrift_transport::TSkeinDurableTransportFactory;
using skein::thrift_transport::TSkeinServerSocket;

class SayPort final : public TServerEventHandler {
 public:
  SayPort(std::shared_ptr<TSkeinServerSocket> socket, std::string level)
      : socket_(std::move(socket)), level_(std::move(level)) {}
  void preServe() override {
    std::cout << "listening on " << socket_->getPort() << "; what is persisted is " << level_ << std::endl;
  }

 private:
  const std::shared_ptr<TSkeinServerSocket> socket_;
  const std::string level_;
};

int Serve(const skein::examples::Address& address, const std::string& log, const std::string& file) {
  TSkeinDurableServerOptions options;
  options.path = log;
  options.bytes = 16 << 20;
  const auto protocols = std::make_shared<TBinaryProtocolFactory>();
  const auto processor = std::make_shared<TSkeinDurableProcessor>(
      std::make_shared<NotebookProcessor>(std::make_shared<Book>(file)), protocols, options);
  const auto socket = std::make_shared<TSkeinServerSocket>(address.host, address.port);
  TThreadedServer server(processor, socket, std::make_shared<TSkeinDurableTransportFactory>(), protocols);
  server.setServerEventHandler(std::make_shared<SayPort>(socket, processor->getLevel()));

  std::thread serving([&server] { server.serve(); });
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  int signal = 0;
  sigwait(&stop, &signal);
  server.stop();
  serving.join();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "notebook_server HOST:PORT LOG FILE" << std::endl;
    return 2;
  }
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);  // inherited by all threads: only sigwait takes them
  try {
    return Serve(skein::examples::ParseAddress(argv[1]), argv[2], argv[3]);
  } catch (const apache::thrift::TException& error) {
    std::cerr << "cannot serve: " << error.what() << std::endl;
    return 1;
  }
}
