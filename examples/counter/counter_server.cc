// counter_server LOG [ADDRESS [BYTES [TOTAL [ACKNOWLEDGE REPLICA...]]]]: adds up what it is sent, exactly once,
// whatever kills it: LOG is its redo log, of BYTES (8 MiB), TOTAL (LOG.total) its checkpoint. A REPLICA's log may be
// promoted; its server needs the checkpoint as well. ACKNOWLEDGE of the logs have what is acknowledged; 0: all.
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <skein/grpc.h>
#include <skein/grpc_durable.h>

#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "examples/counter/counter.grpc.pb.h"
#include "examples/counter/total.h"
#include "examples/usage.h"

namespace {

class CounterService final : public counter::Counter::Service {
 public:
  explicit CounterService(skein::examples::Total& total) : total_(total) {}
  grpc::Status Add(grpc::ServerContext*, const counter::AddRequest* request, counter::AddReply* reply) override {
    reply->set_amount(request->amount());
    reply->set_total(total_.Add(request->amount()));
    return grpc::Status::OK;
  }

 private:
  skein::examples::Total& total_;
};

int Serve(skein::grpc_transport::DurableServiceOptions options, const std::string& checkpoint,
          const std::string& address, const sigset_t& stop) {
  skein::examples::Total total(checkpoint);
  options.threads = 1;  // a total tells of calls before it: they must be safe before it, too
  options.on_reply = [&total](const auto& reply) { total.OnReply(reply); };
  auto durable = skein::grpc_transport::DurableService::Open(options);
  if (!durable.ok()) {
    std::cerr << durable.status().message() << std::endl;
    return 1;
  }
  if (absl::Status status = total.Restore(**durable); !status.ok()) {
    std::cerr << status.message() << std::endl;
    return 1;
  }
  CounterService counter(total);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument("skein.mode", "prefer");
  builder.RegisterService(&counter).RegisterService((*durable)->service());
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    std::cerr << "cannot listen on " << address << std::endl;
    return 1;
  }
  (*durable)->Start(*server);
  std::cout << "listening on " << port << std::endl;
  const timespec second = {1, 0};
  while (sigtimedwait(&stop, nullptr, &second) < 0) total.Retry();
  (*durable)->Stop();
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
  return 0;
}

// False: the words are no call of this program's.
bool Read(const std::vector<std::string>& words, skein::grpc_transport::DurableServiceOptions& options) {
  if (words.empty() || words.size() == 5 || words[0][0] == '-') return false;
  options.path = words[0];
  options.bytes = 8 << 20;
  if (words.size() > 2 && !absl::SimpleAtoi(words[2], &options.bytes)) return false;
  if (words.size() > 4 && !absl::SimpleAtoi(words[4], &options.acknowledge)) return false;
  if (words.size() > 5) options.replicas.assign(words.begin() + 5, words.end());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  skein::grpc_transport::DurableServiceOptions options;
  if (!Read(words, options)) {
    return skein::examples::ShowUsage(argc, argv, "LOG [ADDRESS [BYTES [TOTAL [ACKNOWLEDGE REPLICA...]]]]");
  }
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);  // inherited by gRPC's threads: only sigwait takes them
  if (auto status = skein::grpc_transport::Init(); !status.ok()) std::cerr << status.message() << std::endl;
  const std::string checkpoint = words.size() > 3 ? words[3] : options.path + ".total";
  return Serve(std::move(options), checkpoint, words.size() > 1 ? words[1] : "127.0.0.1:0", stop);
}
