// greeter_client TARGET [--calls N] [--watch]: calls the greeter over plain gRPC.
#include <grpcpp/grpcpp.h>

#include "examples/client.h"
#include "examples/greeter/greeter_calls.h"

int main(int argc, char** argv) {
  const std::string target = skein::examples::ParseTarget(argc, argv);
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  auto channel = grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
  return skein::examples::CallGreeter(channel);
}
