#ifndef SKEIN_BENCH_MACRO_SERVER_H_
#define SKEIN_BENCH_MACRO_SERVER_H_

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>

#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace skein::bench {

// An echo server in this process.
class Server {
 public:
  // `style`: see NewEchoService. An empty address: it is reached by InProcessChannel alone.
  Server(absl::string_view style, const std::string& address,
         const std::shared_ptr<grpc::ServerCredentials>& credentials);

  // Whether it serves.
  explicit operator bool() const { return server_ != nullptr; }
  // That it listens on: HOST:0 has got its port.
  const std::string& address() const { return address_; }
  std::shared_ptr<grpc::Channel> InProcessChannel(const grpc::ChannelArguments& arguments) {
    return server_->InProcessChannel(arguments);
  }

 private:
  std::string address_;
  std::unique_ptr<grpc::Service> service_;  // outlives the server
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_MACRO_SERVER_H_
