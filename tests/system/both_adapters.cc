// both_adapters: a process with libskein_grpc and libskein_thrift, which calls itself by both. Says "ready" when both
// connections are there and have carried something, and ends with its standard input.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <skein/grpc.h>
#include <skein/thrift/server_socket.h>
#include <skein/thrift/socket.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

namespace {

using skein::thrift_transport::TSkeinServerSocket;
using skein::thrift_transport::TSkeinSocket;

struct ByGrpc {
  ByGrpc() {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterCallbackGenericService(&service);
    server = builder.BuildAndStart();
    channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials());
  }
  bool Connects() { return channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(20)); }

  grpc::CallbackGenericService service;
  std::unique_ptr<grpc::Server> server;
  std::shared_ptr<grpc::Channel> channel;
};

struct ByThrift {
  ByThrift() {
    listening.listen();
    client = std::make_unique<TSkeinSocket>("127.0.0.1", listening.getPort());
    std::thread accepting([this] {
      accepted = listening.accept();
      accepted->readAll(&received, 1);
    });
    client->open();
    client->write(reinterpret_cast<const uint8_t*>("x"), 1);
    client->flush();
    accepting.join();
  }

  TSkeinServerSocket listening{"127.0.0.1", 0};
  std::shared_ptr<apache::thrift::transport::TTransport> accepted;
  std::unique_ptr<TSkeinSocket> client;
  uint8_t received = 0;
};

}  // namespace

int main() try {
  if (const absl::Status status = skein::grpc_transport::Init(); !status.ok()) {
    std::cerr << status << std::endl;
    return 1;
  }
  ByGrpc by_grpc;
  if (!by_grpc.Connects()) return 1;
  const ByThrift by_thrift;
  std::cout << "ready" << std::endl;
  std::cin.get();
  return by_thrift.received == 'x' ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << std::endl;
  return 1;
}
