// grpc_server ADDRESS LOG: echoes, plain calls and durable ones; LOG is the redo log of the latter. Until it is killed.
#include <grpcpp/grpcpp.h>
#include <skein/grpc.h>
#include <skein/grpc_durable.h>

#include <iostream>
#include <memory>
#include <string>

#include "echo.grpc.pb.h"

namespace {

class EchoService final : public standalone::Echo::Service {
  grpc::Status Say(grpc::ServerContext*, const standalone::Text* request, standalone::Text* reply) override {
    *reply = *request;
    return grpc::Status::OK;
  }
};

int Fail(const absl::Status& why) {
  std::cerr << "grpc_server: " << why << std::endl;
  return 1;
}

int Serve(const std::string& address, const std::string& log) {
  if (absl::Status status = skein::grpc_transport::Init(); !status.ok()) return Fail(status);
  skein::grpc_transport::DurableServiceOptions options;
  options.path = log;
  options.bytes = 4 << 20;
  const auto durable = skein::grpc_transport::DurableService::Open(options);
  if (!durable.ok()) return Fail(durable.status());

  EchoService echo;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument("skein.mode", "prefer");
  builder.RegisterService(&echo).RegisterService((*durable)->service());
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return Fail(absl::UnavailableError("cannot listen on " + address));
  (*durable)->Start(*server);
  std::cout << "listening on " << port << std::endl;
  server->Wait();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3) return Serve(argv[1], argv[2]);
  std::cerr << "usage: grpc_server ADDRESS LOG" << std::endl;
  return 2;
}
