#include "examples/greeter/greeter_service.h"

#include <signal.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>

namespace skein::examples {

grpc::Status GreeterService::SayHello(grpc::ServerContext*, const HelloRequest* request, HelloReply* reply) {
  reply->set_message("Hello, " + request->name());
  return grpc::Status::OK;
}

grpc::Status GreeterService::Echo(grpc::ServerContext*, const Blob* request, Blob* reply) {
  reply->set_data(request->data());
  return grpc::Status::OK;
}

grpc::Status GreeterService::Chat(grpc::ServerContext*, grpc::ServerReaderWriter<HelloReply, HelloRequest>* stream) {
  HelloRequest request;
  while (stream->Read(&request)) {
    HelloReply reply;
    reply.set_message("Hello, " + request.name());
    if (!stream->Write(reply)) break;
  }
  return grpc::Status::OK;
}

int ServeUntilSignal(grpc::ServerBuilder& builder, const std::string& address) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);  // inherited by gRPC's threads: only sigwait below takes them

  GreeterService service;
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  builder.SetMaxReceiveMessageSize(64 << 20);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    std::cerr << "cannot listen on " << address << std::endl;
    return 1;
  }
  const bool is_path = address.rfind("unix:", 0) == 0;
  std::cout << "listening on " << (is_path ? address : std::to_string(port)) << std::endl;
  int signal = 0;
  sigwait(&stop, &signal);
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
  return 0;
}

}  // namespace skein::examples
