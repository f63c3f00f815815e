// greeter_server [ADDRESS]: the greeter over plain gRPC.
#include <grpcpp/grpcpp.h>

#include "examples/greeter/greeter_service.h"

int main(int argc, char** argv) {
  grpc::ServerBuilder builder;
  return skein::examples::ServeUntilSignal(builder, argc > 1 ? argv[1] : "127.0.0.1:0");
}
