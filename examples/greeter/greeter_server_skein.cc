// greeter_server_skein [ADDRESS]: the greeter over Skein where it can. Diff this with greeter_server.cc.
#include <grpcpp/grpcpp.h>
#include <skein/grpc.h>

#include <string>

#include "examples/greeter/greeter_service.h"
#include "examples/listen_address.h"

int main(int argc, char** argv) {
  const std::string address = skein::examples::ParseListenAddress(argc, argv);
  if (auto status = skein::grpc_transport::Init(); !status.ok()) std::cerr << status << std::endl;
  grpc::ServerBuilder builder;
  builder.AddChannelArgument("skein.mode", "prefer");
  return skein::examples::ServeUntilSignal(builder, address);
}
