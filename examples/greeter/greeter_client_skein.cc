// greeter_client_skein TARGET [--calls N] [--watch]: calls the greeter over Skein where it can. Diff this with
// greeter_client.cc.
#include <grpcpp/grpcpp.h>
#include <skein/grpc.h>

#include <iostream>

#include "examples/client.h"
#include "examples/greeter/greeter_calls.h"

int main(int argc, char** argv) {
  const std::string target = skein::examples::ParseTarget(argc, argv);
  if (auto status = skein::grpc_transport::Init(); !status.ok()) std::cerr << status << std::endl;
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  arguments.SetString("skein.mode", "prefer");
  auto channel = grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
  return skein::examples::CallGreeter(channel);
}
