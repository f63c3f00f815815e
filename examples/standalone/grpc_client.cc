// grpc_client ADDRESS: a plain call and a durable one, and by which path each connection went.
#include <grpcpp/grpcpp.h>
#include <skein/grpc.h>
#include <skein/grpc_durable.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>

#include "echo.grpc.pb.h"

namespace {

bool Say(const std::shared_ptr<grpc::Channel>& channel, const std::string& text) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  standalone::Text request;
  standalone::Text reply;
  request.set_text(text);
  const grpc::Status status = standalone::Echo::NewStub(channel)->Say(&context, request, &reply);
  if (!status.ok()) std::cerr << "grpc_client: " << status.error_message() << std::endl;
  return status.ok() && reply.text() == text;
}

int Call(const std::string& address) {
  if (absl::Status status = skein::grpc_transport::Init(); !status.ok()) std::cerr << status << std::endl;
  grpc::ChannelArguments arguments;
  arguments.SetString("skein.mode", "prefer");
  const auto credentials = grpc::InsecureChannelCredentials();
  const auto plain = grpc::CreateCustomChannel(address, credentials, arguments);
  const auto durable = skein::grpc_transport::CreateDurableChannel(address, credentials, arguments, {});
  if (!durable.ok() || !Say(plain, "hello") || !Say(*durable, "kept")) return 1;
  for (const skein::Path& path : skein::Paths()) std::cout << path.path << " " << path.why << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) return Call(argv[1]);
  std::cerr << "usage: grpc_client ADDRESS" << std::endl;
  return 2;
}
