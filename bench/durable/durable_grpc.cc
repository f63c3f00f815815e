// What a durable gRPC call costs its caller, until it is persisted and until it is answered, beside a plain one: two
// processes on this host, blocking calls of one channel. Prints one line of JSON.
//   bench_durable_grpc [--skein] [--log=FILE] --callers=8 --bytes=64 --duration=1s
#include <grpcpp/grpcpp.h>
#include <skein/grpc.h>
#include <skein/grpc_durable.h>
#include <unistd.h>

#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/durable/calls_load.h"
#include "bench/macro/echo_services.h"
#include "bench/server_process.h"

namespace skein::bench {
namespace {

using grpc_transport::CreateDurableChannel;
using grpc_transport::DurableMark;
using grpc_transport::DurableService;

bool Durable() { return !absl::GetFlag(FLAGS_log).empty(); }
const char* Mode() { return absl::GetFlag(FLAGS_skein) ? "require" : "off"; }

void Must(const absl::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

// In a process of its own, until it is killed.
void ServeUntilKilled(int address_fd) {
  Must(grpc_transport::Init());
  const std::unique_ptr<grpc::Service> echo = NewEchoService("sync");
  std::unique_ptr<DurableService> durable;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument("skein.mode", Mode());
  builder.RegisterService(echo.get());
  if (Durable()) {
    auto opened = DurableService::Open({.path = absl::GetFlag(FLAGS_log), .replicas = absl::GetFlag(FLAGS_replicas)});
    Must(opened.status());
    durable = *std::move(opened);
    builder.RegisterService(durable->service());
  }
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) throw std::runtime_error("no server");
  if (durable != nullptr) durable->Start(*server);
  const std::string address = absl::StrCat("127.0.0.1:", port);
  if (write(address_fd, address.data(), address.size()) < 0) return;
  server->Wait();
}

int Serve(int address_fd) {
  try {
    ServeUntilKilled(address_fd);
  } catch (const std::runtime_error& error) {
    std::cerr << error.what() << std::endl;
  }
  return 1;
}

std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetString("skein.mode", Mode());
  if (!Durable()) return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  auto channel = CreateDurableChannel(address, grpc::InsecureChannelCredentials(), arguments, {});
  Must(channel.status());
  return *std::move(channel);
}

class GrpcCaller final : public Caller {
 public:
  explicit GrpcCaller(const std::shared_ptr<grpc::Channel>& channel) : stub_(Echo::NewStub(channel)) {}

  void Call(const std::string& payload, CallTimes& times) override {
    grpc::ClientContext context;
    Payload request;
    request.set_data(payload);
    Payload reply;
    const absl::Time start = absl::Now();
    std::optional<DurableMark> mark;
    if (Durable()) {
      // Before the reply is given, so that it does not outlive this call.
      mark.emplace(context, [&times, start](const absl::StatusOr<std::string>& level) {
        times.persisted.push_back(absl::Now() - start);
        times.level = level.value_or("");
      });
    }
    const grpc::Status status = stub_->Call(&context, request, &reply);
    times.replied.push_back(absl::Now() - start);
    if (!status.ok()) throw std::runtime_error(status.error_message());
    if (reply.data() != payload) throw std::runtime_error("an echo of something else");
  }

 private:
  const std::unique_ptr<Echo::Stub> stub_;
};

int Measure(const std::string& address) {
  try {
    Must(grpc_transport::Init());
    const std::shared_ptr<grpc::Channel> channel = Connect(address);
    return MeasureCalls([&] { return std::make_unique<GrpcCaller>(channel); });
  } catch (const std::runtime_error& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}

}  // namespace
}  // namespace skein::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  std::optional<skein::bench::ServerProcess> server(skein::bench::Serve);
  const std::string address = server->Address();
  const int status = address.empty() ? 1 : skein::bench::Measure(address);
  server.reset();
  _exit(status);  // gRPC's shutdown over TCP may take ten seconds (bench/macro/init.h)
}
