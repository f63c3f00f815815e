// What a fabric's WRITEs, streams over it and plain sockets do between two processes. One end serves:
//   bench_fabric --listen=10.0.0.1:7000
// (it prints "listening on ADDRESS", and goes on until it is killed), the other measures one thing and prints it as a
// line of JSON:
//   bench_fabric --target=10.0.0.1:7000 --over=write --fabric=rdma --measure=latency --bytes=64 --count=1000
// With --over=tcp and LD_PRELOAD=librspreload.so on both ends, it is rsockets that are measured.
// Exit status: 0, 1 failed, 2 called wrongly.
#include <iostream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "bench/micro/measure.h"
#include "bench/micro/plan.h"
#include "bench/micro/socket.h"

ABSL_FLAG(std::string, listen, "", "HOST:PORT to serve at; port 0: any");
ABSL_FLAG(std::string, target, "", "HOST:PORT of the server to measure with");
ABSL_FLAG(std::string, over, "stream",
          "what carries the messages: stream (over the fabric), write (RDMA's WRITEs) or tcp");
ABSL_FLAG(std::string, fabric, "shm",
          "shm, rdma or skeind (RDMA through the hosts' skeinds); SKEIN_RDMA_* variables have the details");
ABSL_FLAG(std::string, measure, "latency", "latency (half round trips, both ends spinning) or bandwidth (one way)");
ABSL_FLAG(uint64_t, bytes, 64, "of a message");
ABSL_FLAG(uint64_t, count, 1000, "round trips, or messages");

namespace skein::bench {
namespace {

int CalledWrongly(absl::string_view what) {
  std::cerr << "bench_fabric: " << what << std::endl;
  return 2;
}

int Report(const absl::Status& status) {
  if (absl::IsInvalidArgument(status)) return CalledWrongly(status.message());
  std::cerr << "bench_fabric: " << status.message() << std::endl;
  return 1;
}

int RunServer(const std::string& at) {
  const absl::StatusOr<Socket> listener = Socket::Listen(at);
  if (!listener.ok()) return Report(listener.status());
  const absl::StatusOr<std::string> address = listener->address();
  if (!address.ok()) return Report(address.status());
  std::cout << "listening on " << *address << std::endl;
  for (;;) {
    absl::StatusOr<Socket> client = listener->Accept();
    if (!client.ok()) return Report(client.status());
    if (const absl::Status status = Serve(*client); !status.ok()) Report(status);
  }
}

int RunClient(const std::string& target) {
  const Plan plan{absl::GetFlag(FLAGS_over), absl::GetFlag(FLAGS_fabric), absl::GetFlag(FLAGS_measure),
                  absl::GetFlag(FLAGS_bytes), absl::GetFlag(FLAGS_count)};
  if (const absl::Status status = Check(plan); !status.ok()) return Report(status);
  absl::StatusOr<Socket> server = Socket::Connect(target);
  if (!server.ok()) return Report(server.status());
  const absl::StatusOr<std::string> figures = Measure(plan, *server);
  if (!figures.ok()) return Report(figures.status());
  std::cout << *figures << std::endl;
  return 0;
}

int Main(const std::vector<char*>& arguments) {
  const std::string listen = absl::GetFlag(FLAGS_listen);
  const std::string target = absl::GetFlag(FLAGS_target);
  if (arguments.size() > 1) return CalledWrongly("there are only --flags; --help lists them");
  if (listen.empty() == target.empty()) return CalledWrongly("give either --listen=HOST:PORT or --target=HOST:PORT");
  return listen.empty() ? RunClient(target) : RunServer(listen);
}

}  // namespace
}  // namespace skein::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("bench_fabric --listen=HOST:PORT | --target=HOST:PORT [--over=...] [--measure=...]");
  return skein::bench::Main(absl::ParseCommandLine(argc, argv));
}
