// A server and a client of gRPC's in one process, and nothing of Skein: whether the distribution's packages of gRPC,
// Protocol Buffers and Abseil fit together.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/callback_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdio>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

int main() {
  grpc::CallbackGenericService service;  // each call is UNIMPLEMENTED
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  const auto channel = grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials());
  const bool connected = channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(20));
  std::printf("%s\n", connected ? grpc::Version().c_str() : "no connection");
  server->Shutdown();
  return connected ? 0 : 1;
}
