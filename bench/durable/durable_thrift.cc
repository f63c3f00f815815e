// The same of Thrift: a connection for each caller.
//   bench_durable_thrift [--skein] [--log=FILE] --callers=8 --bytes=64 --duration=1s
#include <skein/thrift/durable_transport.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>

#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/time/clock.h"
#include "bench/durable/calls_load.h"
#include "bench/durable/thrift_ends.h"
#include "bench/server_process.h"
#include "bench/thrift/BenchEcho.h"

namespace skein::bench {
namespace {

using apache::thrift::protocol::TBinaryProtocol;
using apache::thrift::transport::TBufferedTransport;
using apache::thrift::transport::TTransport;
using namespace thrift_transport;  // NOLINT(google-build-using-namespace): each of its names begins with TSkein

ThriftCarrier Carrier() {
  return {
      .skein = absl::GetFlag(FLAGS_skein), .log = absl::GetFlag(FLAGS_log), .replicas = absl::GetFlag(FLAGS_replicas)};
}
bool Durable() { return !absl::GetFlag(FLAGS_log).empty(); }

class Handler final : public BenchEchoIf {
 public:
  void Echo(std::string& reply, const std::string& payload) override { reply = payload; }
};

// In a process of its own, until it is killed.
int Serve(int port_fd) {
  return ServeThrift(Carrier(), std::make_shared<BenchEchoProcessor>(std::make_shared<Handler>()), port_fd);
}

class ThriftCaller final : public Caller {
 public:
  explicit ThriftCaller(int port) {
    if (Durable()) {
      durable_ = std::make_shared<TSkeinDurableTransport>([port] { return ThriftSocket(Carrier(), port); });
      durable_->onPersisted([this](const TSkeinPersisted& persisted) {
        times_->persisted.push_back(absl::Now() - start_);
        times_->level = persisted.level;
      });
    }
    const std::shared_ptr<TTransport> transport =
        Durable()
            ? durable_
            : std::static_pointer_cast<TTransport>(std::make_shared<TBufferedTransport>(ThriftSocket(Carrier(), port)));
    client_ = std::make_unique<BenchEchoClient>(std::make_shared<TBinaryProtocol>(transport));
    transport->open();
  }

  void Call(const std::string& payload, CallTimes& times) override {
    times_ = &times;
    std::string reply;
    start_ = absl::Now();
    client_->Echo(reply, payload);
    times.replied.push_back(absl::Now() - start_);
    if (reply != payload) throw std::runtime_error("an echo of something else");
  }

 private:
  std::shared_ptr<TSkeinDurableTransport> durable_;
  std::unique_ptr<BenchEchoClient> client_;
  CallTimes* times_ = nullptr;  // of the call that is under way
  absl::Time start_;
};

}  // namespace
}  // namespace skein::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  skein::bench::ServerProcess server(skein::bench::Serve);
  const std::string port = server.Address();
  if (port.empty()) return 1;
  try {
    return skein::bench::MeasureCalls(
        [&port] { return std::make_unique<skein::bench::ThriftCaller>(std::stoi(port)); });
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
