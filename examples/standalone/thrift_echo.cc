// thrift_echo serve            echoes, at any free port, until it is killed
// thrift_echo call HOST PORT   a call, and by which path it went
#include <skein/thrift/server_socket.h>
#include <skein/thrift/socket.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>

#include <exception>
#include <iostream>
#include <memory>
#include <string>

#include "Echo.h"

namespace {

using apache::thrift::protocol::TBinaryProtocol;
using apache::thrift::protocol::TBinaryProtocolFactory;
using apache::thrift::server::TServerEventHandler;
using apache::thrift::server::TThreadedServer;
using apache::thrift::transport::TBufferedTransportFactory;
using skein::thrift_transport::TSkeinServerSocket;
using skein::thrift_transport::TSkeinSocket;

class Echo final : public standalone::EchoIf {
  void say(std::string& reply, const std::string& text) override { reply = text; }
};

class Announce final : public TServerEventHandler {
 public:
  explicit Announce(const TSkeinServerSocket& socket) : socket_(socket) {}
  void preServe() override { std::cout << "listening on " << socket_.getPort() << std::endl; }

 private:
  const TSkeinServerSocket& socket_;
};

void Serve() {
  const auto socket = std::make_shared<TSkeinServerSocket>("127.0.0.1", 0);
  TThreadedServer server(std::make_shared<standalone::EchoProcessor>(std::make_shared<Echo>()), socket,
                         std::make_shared<TBufferedTransportFactory>(), std::make_shared<TBinaryProtocolFactory>());
  server.setServerEventHandler(std::make_shared<Announce>(*socket));
  server.serve();
}

int Call(const std::string& host, int port) {
  const auto socket = std::make_shared<TSkeinSocket>(host, port);
  socket->open();
  std::string reply;
  standalone::EchoClient(std::make_shared<TBinaryProtocol>(socket)).say(reply, "hello");
  std::cout << socket->getSkeinPath() << " " << socket->getSkeinReason() << std::endl;
  return reply == "hello" ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (argc == 2 && verb == "serve") return Serve(), 0;
  if (argc == 4 && verb == "call") return Call(argv[2], std::stoi(argv[3]));
  std::cerr << "usage: thrift_echo serve | call HOST PORT" << std::endl;
  return 2;
} catch (const std::exception& error) {
  std::cerr << "thrift_echo: " << error.what() << std::endl;
  return 1;
}
