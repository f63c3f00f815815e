// A server and a client of gRPC's in one process, on shared memory: prints the path of their connection.
#include <grpcpp/generic/callback_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <skein/grpc.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>

int main() {
  // Before the first channel or server. From main: before it, a gRPC that is linked in may forget it again.
  if (const absl::Status status = skein::grpc_transport::Init(); !status.ok()) {
    std::cerr << status.message() << "\n";
    return 1;
  }
  grpc::CallbackGenericService service;  // each call to it is UNIMPLEMENTED
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddChannelArgument("skein.mode", "require");
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;

  grpc::ChannelArguments arguments;
  arguments.SetString("skein.mode", "require");
  const auto channel =
      grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(), arguments);
  if (!channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(20))) return 1;
  for (const skein::Path& path : skein::Paths()) {
    if (path.role == skein::Path::Role::kClient) std::cout << "over " << path.path << "\n";
  }
  server->Shutdown();
}
