// The greeter service: an ordinary synchronous gRPC service.
#ifndef SKEIN_EXAMPLES_GREETER_GREETER_SERVICE_H_
#define SKEIN_EXAMPLES_GREETER_GREETER_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include "examples/greeter/greeter.grpc.pb.h"

namespace skein::examples {

class GreeterService final : public Greeter::Service {
 public:
  grpc::Status SayHello(grpc::ServerContext* context, const HelloRequest* request, HelloReply* reply) override;
  grpc::Status Echo(grpc::ServerContext* context, const Blob* request, Blob* reply) override;
  grpc::Status Chat(grpc::ServerContext* context, grpc::ServerReaderWriter<HelloReply, HelloRequest>* stream) override;
};

// Runs the server that `builder` describes on `address` ("127.0.0.1:0": any free port; "unix:/path"). Says "listening
// on <address>" on stdout once it does. Returns the exit status, after SIGTERM or SIGINT; call it before any thread
// starts.
int ServeUntilSignal(grpc::ServerBuilder& builder, const std::string& address);

}  // namespace skein::examples

#endif  // SKEIN_EXAMPLES_GREETER_GREETER_SERVICE_H_
