// greeter_server [ADDRESS]: the greeter over plain gRPC.
#include <grpcpp/grpcpp.h>

#include <string>

#include "examples/greeter/greeter_service.h"
#include "examples/listen_address.h"

int main(int argc, char** argv) {
  const std::string address = skein::examples::ParseListenAddress(argc, argv);
  grpc::ServerBuilder builder;
  return skein::examples::ServeUntilSignal(builder, address);
}
