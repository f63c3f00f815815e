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

#include "examples/counter/counter.grpc.pb.h"
#include "examples/counter/total.h"

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
    std::cerr << durable.status() << std::endl;
    return 1;
  }
  if (absl::Status status = total.Restore(**durable); !status.ok()) {
    std::cerr << status << std::endl;
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

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc == 6) {
    std::cerr << "usage: " << argv[0] << " LOG [ADDRESS [BYTES [TOTAL [ACKNOWLEDGE REPLICA...]]]]" << std::endl;
    return 2;
  }
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);  // inherited by gRPC's threads: only sigwait takes them
  if (auto status = skein::grpc_transport::Init(); !status.ok()) std::cerr << status << std::endl;
  skein::grpc_transport::DurableServiceOptions options;
  options.path = argv[1];
  options.bytes = argc > 3 ? std::stoull(argv[3]) : 8 << 20;
  options.acknowledge = argc > 5 ? static_cast<uint32_t>(std::stoul(argv[5])) : 0;
  for (int i = 6; i < argc; ++i) options.replicas.emplace_back(argv[i]);
  const std::string checkpoint = argc > 4 ? argv[4] : options.path + ".total";
  return Serve(std::move(options), checkpoint, argc > 2 ? argv[2] : "127.0.0.1:0", stop);
}
