// greeter_server_skein [ADDRESS]: the greeter over Skein where it can. Diff this with greeter_server.cc.
#include <grpcpp/grpcpp.h>
#include <skein/grpc.h>

#include "examples/greeter/greeter_service.h"

int main(int argc, char** argv) {
  if (auto status = skein::grpc_transport::Init(); !status.ok()) std::cerr << status << std::endl;
  grpc::ServerBuilder builder;
  builder.AddChannelArgument("skein.mode", "prefer");
  return skein::examples::ServeUntilSignal(builder, argc > 1 ? argv[1] : "127.0.0.1:0");
}
