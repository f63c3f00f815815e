// refusal in-time | late: calls Init() before or after gRPC has made its first channel, prints what it said, and makes
// sure that gRPC goes on working whatever that was. Status 0 if Init() succeeded, 1 if it refused, 2 if gRPC broke.
#include <grpcpp/grpcpp.h>
#include <skein/grpc.h>

#include <iostream>
#include <memory>

#include "absl/strings/string_view.h"

namespace {

bool GrpcWorks() {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  const auto queue = builder.AddCompletionQueue();
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const auto channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials());
  const bool works = channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(10));
  if (server != nullptr) server->Shutdown();
  queue->Shutdown();
  void* tag = nullptr;
  for (bool ok = false; queue->Next(&tag, &ok);) {
  }
  return works && server != nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && absl::string_view(argv[1]) == "late" && !GrpcWorks()) return 2;
  const absl::Status status = skein::grpc_transport::Init();
  std::cout << status << std::endl;
  if (!GrpcWorks()) return 2;
  return status.ok() ? 0 : 1;
}
