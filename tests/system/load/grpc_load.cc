// Calls of every kind between two gRPC processes, each byte of which is checked.
//   grpc_load --serve=127.0.0.1:0 [--mode=require] [--api=sync]     prints "listening on ADDRESS", serves until its
//                                                    input ends and answers lines of it (heap.h)
//   grpc_load --targets=ADDRESS,... [--threads=3] [...]     calls until its input ends; answers "report" lines
//   (callers.h)
// What else they are told: options.h, grpc_options.h.
#include <grpcpp/grpcpp.h>
#include <skein/grpc.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "tests/system/load/callers.h"
#include "tests/system/load/grpc_calls.h"
#include "tests/system/load/grpc_options.h"
#include "tests/system/load/grpc_service.h"
#include "tests/system/load/heap.h"
#include "tests/system/load/options.h"
#include "tests/system/load/tally.h"

namespace skein::load {
namespace {

// A thread's: a channel, and now and then another.
void Run(const std::string& target, Tally& tally, const std::atomic<bool>& ended) {
  Kept<grpc::Channel> kept;
  const int connections = absl::GetFlag(FLAGS_connections);
  for (int made = 0; !ended && (connections == 0 || made < connections); ++made) {
    const auto channel = grpc::CreateCustomChannel(target, ClientCredentials(), ClientArguments());
    // A look sees the paths of all connections, which takes longer than a call where thousands are kept.
    const bool looks_at_paths = kept.size() < 100 || kept.size() % 100 == 0;
    Calls calls(channel, looks_at_paths, tally);
    for (int left = absl::GetFlag(FLAGS_calls_each); left > 0 && !ended; --left) {
      // Not one failure after the other while there is no connection.
      if (!calls.One()) channel->WaitForConnected(Within(absl::Milliseconds(100)));
    }
    kept.Add(channel);
  }
}

int Call() {
  if (const std::string unknown = Calls::UnknownKind(); !unknown.empty()) {
    std::cerr << "--kinds: there is no " << unknown << std::endl;
    return 1;
  }
  return RunCallers(Run);
}

int Serve() {
  const std::unique_ptr<LoadService> service = NewLoadService(absl::GetFlag(FLAGS_api));
  if (service == nullptr) {
    std::cerr << "--api: there is no " << absl::GetFlag(FLAGS_api) << std::endl;
    return 1;
  }
  grpc::ServerBuilder builder;
  const Address address = AddressOf(absl::GetFlag(FLAGS_serve));
  int port = 0;
  builder.AddListeningPort(absl::GetFlag(FLAGS_serve), ServerCredentials(), &port);
  if (!Stock()) builder.AddChannelArgument("skein.mode", absl::GetFlag(FLAGS_mode));
  builder.SetMaxReceiveMessageSize(-1);
  service->AddTo(builder);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) return 1;
  service->Start();
  std::cout << "listening on " << address.host << ":" << port << std::endl;
  ReportHeapUntilEnd();
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  service->Stop();
  return 0;
}

}  // namespace
}  // namespace skein::load

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  if (!skein::load::Stock()) {
    if (const absl::Status status = skein::grpc_transport::Init(); !status.ok()) {
      std::cerr << status << std::endl;
      return 1;
    }
  }
  return absl::GetFlag(FLAGS_serve).empty() ? skein::load::Call() : skein::load::Serve();
}
