// A server whose life a test controls through its standard input:
//   start            builds and starts it (again), on the same address once it has one
//   shutdown         graceful shutdown, open calls are cancelled after 1 s
//   holds N          waits until exactly N Hold calls are open, at most 20 s
// Ends with its input.
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "tests/support/held.h"
#include "tests/system/probe.grpc.pb.h"
#include "tests/system/probe_flags.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:0", "address to listen on");
ABSL_FLAG(std::string, tls_cert, "", "PEM file; with --tls_key makes it a TLS server");
ABSL_FLAG(std::string, tls_key, "", "PEM file");

namespace skein::probe {
namespace {

// How many Hold calls are open.
class HoldCount {
 public:
  void Add(int change) {
    Held lock(mu_);
    count_ += change;
  }
  int WaitFor(int wanted) {
    Held lock(mu_);
    wanted_ = wanted;
    mu_.AwaitWithTimeout(absl::Condition(this, &HoldCount::Reached), absl::Seconds(20));
    return count_;
  }

 private:
  bool Reached() const ABSL_SHARED_LOCKS_REQUIRED(mu_) { return count_ == wanted_; }

  absl::Mutex mu_;
  int count_ ABSL_GUARDED_BY(mu_) = 0;
  int wanted_ ABSL_GUARDED_BY(mu_) = 0;
};

// Writes one message and stays until the call is cancelled. Owns itself, as reactors do.
class HoldReactor final : public grpc::ServerWriteReactor<Payload> {
 public:
  explicit HoldReactor(HoldCount* count) : count_(count) {
    count_->Add(1);
    StartWrite(&first_);
  }
  void OnCancel() override { Finish(grpc::Status::CANCELLED); }
  void OnDone() override {
    count_->Add(-1);
    delete this;
  }

 private:
  HoldCount* const count_;
  Payload first_;
};

class ProbeService final : public Probe::WithCallbackMethod_Hold<Probe::Service> {
 public:
  explicit ProbeService(HoldCount* count) : count_(count) {}

  grpc::Status Echo(grpc::ServerContext*, const Payload* request, Payload* reply) override {
    *reply = *request;
    return grpc::Status::OK;
  }
  grpc::ServerWriteReactor<Payload>* Hold(grpc::CallbackServerContext*, const Payload*) override {
    return new HoldReactor(count_);
  }
  grpc::Status WhoAmI(grpc::ServerContext* context, const Payload*, Identity* reply) override {
    reply->set_peer(context->peer());
    for (const std::string& property : AuthProperties(context->auth_context().get())) reply->add_auth(property);
    return grpc::Status::OK;
  }

 private:
  HoldCount* const count_;
};

class ProbeServer {
 public:
  Report Run(const std::vector<std::string>& words) {
    Report report;
    int wanted = 0;
    if (words[0] == "start") {
      report.set_timed_out(!Start());
      report.set_address(address_);
    } else if (words[0] == "shutdown") {
      server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
      server_ = nullptr;
    } else if (words[0] == "holds" && words.size() == 2 && absl::SimpleAtoi(words[1], &wanted)) {
      report.set_holds(holds_.WaitFor(wanted));
      report.set_timed_out(report.holds() != wanted);
    } else {
      report.set_message("unknown command " + words[0]);
    }
    return report;
  }

 private:
  bool Start() {
    grpc::ServerBuilder builder;
    for (const Argument& argument : Arguments()) {
      std::visit([&](const auto& value) { builder.AddChannelArgument(argument.name, value); }, argument.value);
    }
    int port = 0;
    builder.AddListeningPort(address_, Credentials(), &port);
    builder.RegisterService(&service_);
    builder.SetMaxReceiveMessageSize(64 << 20);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port == 0) return false;
    const size_t colon = address_.rfind(":0");
    if (colon != std::string::npos && colon + 2 == address_.size()) {
      address_ = absl::StrCat(address_.substr(0, colon), ":", port);
    }
    return true;
  }

  static std::shared_ptr<grpc::ServerCredentials> Credentials() {
    if (absl::GetFlag(FLAGS_tls_cert).empty()) return grpc::InsecureServerCredentials();
    grpc::SslServerCredentialsOptions options;
    options.pem_key_cert_pairs.push_back(
        {ReadFile(absl::GetFlag(FLAGS_tls_key)), ReadFile(absl::GetFlag(FLAGS_tls_cert))});
    return grpc::SslServerCredentials(options);
  }

  std::string address_ = absl::GetFlag(FLAGS_listen);
  HoldCount holds_;
  ProbeService service_{&holds_};
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace
}  // namespace skein::probe

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  skein::probe::InitTransport();
  skein::probe::ForkIfAsked();
  skein::probe::ProbeServer server;
  skein::probe::ServeCommands([&](const std::vector<std::string>& words) { return server.Run(words); });
  std::_Exit(0);  // the test is over: open calls are nobody's business
}
