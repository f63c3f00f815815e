// What core/rpc's calls cost between two processes: one caller, one call after the other; and several threads with
// several calls under way each. The program starts its server itself, as a process of its own, and prints one line of
// JSON:
//   bench_rpc --measure=latency --bytes=64 --count=100000
//   bench_rpc --measure=rate --threads=4 --window=8 --coalesce=false
// Exit status: 0, 1 failed, 2 called wrongly.
#include <sched.h>
#include <skein/rpc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_format.h"
#include "bench/server_process.h"

ABSL_FLAG(std::string, measure, "latency", "latency (round trips of one caller) or rate (calls per second)");
ABSL_FLAG(std::string, mode, "poll", "how both ends wait: poll, hybrid or block");
ABSL_FLAG(uint32_t, bytes, 64, "of a request and its reply");
ABSL_FLAG(uint32_t, count, 100000, "round trips to measure");
ABSL_FLAG(absl::Duration, duration, absl::Seconds(1), "of a measurement of the rate");
ABSL_FLAG(uint32_t, threads, 4, "callers");
ABSL_FLAG(uint32_t, window, 8, "calls that each has under way");
ABSL_FLAG(bool, coalesce, true, "whether messages are combined");
ABSL_FLAG(bool, pin, true, "whether the server has the last processor for itself, and the client the others");
ABSL_FLAG(bool, together, true,
          "whether a thread starts the calls of its window together, when all have been answered");

namespace skein::bench {
namespace {

constexpr uint32_t kEcho = 1;
constexpr absl::Duration kPatience = absl::Seconds(20);

int CalledWrongly(absl::string_view what) {
  std::cerr << "bench_rpc: " << what << std::endl;
  return 2;
}

// Otherwise chance decides whether two threads that wait for each other share one.
void PinTo(bool server) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (!absl::GetFlag(FLAGS_pin) || sched_getaffinity(0, sizeof(mine), &mine) != 0 || CPU_COUNT(&mine) < 2) return;
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &mine)) --last;
  if (server) CPU_ZERO(&mine);
  server ? CPU_SET(last, &mine) : CPU_CLR(last, &mine);
  sched_setaffinity(0, sizeof(mine), &mine);
}

absl::Status Serve(const rpc::Options& options, int address_fd) {
  rpc::Server server(options);
  absl::Status status = server.Handle(kEcho, [](absl::string_view request, rpc::Reply reply) { reply.Send(request); });
  const absl::StatusOr<std::string> address = server.Listen("127.0.0.1:0");
  if (!address.ok()) return address.status();
  if (write(address_fd, address->data(), address->size()) < 0)
    return absl::InternalError("nobody asks for the address");
  close(address_fd);
  return server.Serve();
}

absl::StatusOr<std::string> Latency(rpc::Connection& connection) {
  const std::string request(absl::GetFlag(FLAGS_bytes), 'x');
  const uint32_t count = absl::GetFlag(FLAGS_count);
  rpc::PendingCall call;
  std::vector<int64_t> times;
  times.reserve(count);
  for (uint32_t i = 0; i < count + count / 10; ++i) {
    const int64_t start = absl::GetCurrentTimeNanos();
    connection.Start(call, kEcho, request);
    if (absl::Status status = connection.Wait(call, kPatience); !status.ok()) return status;
    if (i >= count / 10) times.push_back(absl::GetCurrentTimeNanos() - start);
  }
  std::sort(times.begin(), times.end());
  const auto percentile = [&](double part) {
    return static_cast<double>(times[static_cast<size_t>(static_cast<double>(count - 1) * part)]) / 1e3;
  };
  return absl::StrFormat(R"("p50_us": %.3f, "p99_us": %.3f)", percentile(0.5), percentile(0.99));
}

// One after the other, or all at once.
absl::Status CallUntil(rpc::Connection& connection, const std::atomic<bool>& over, std::atomic<uint64_t>& answered) {
  const std::string request(absl::GetFlag(FLAGS_bytes), 'x');
  std::vector<rpc::PendingCall> calls(absl::GetFlag(FLAGS_window));
  std::vector<rpc::CallRequest> all;
  all.reserve(calls.size());
  for (rpc::PendingCall& call : calls) all.push_back({&call, kEcho, request});
  const bool together = absl::GetFlag(FLAGS_together);
  connection.Start(all);
  for (uint64_t mine = 0;;) {
    for (rpc::PendingCall& call : calls) {
      if (absl::Status status = connection.Wait(call, kPatience); !status.ok()) return status;
      ++mine;
      if (!together && !over.load(std::memory_order_relaxed)) connection.Start(call, kEcho, request);
    }
    if (over.load(std::memory_order_relaxed)) {
      if (!together) {
        for (rpc::PendingCall& call : calls) connection.Wait(call, kPatience).IgnoreError();
      }
      answered.fetch_add(mine, std::memory_order_relaxed);
      return absl::OkStatus();
    }
    if (together) connection.Start(all);
  }
}

absl::StatusOr<std::string> Rate(rpc::Connection& connection) {
  std::atomic<bool> over = false;
  std::atomic<uint64_t> answered = 0;
  std::vector<absl::Status> statuses(absl::GetFlag(FLAGS_threads));
  std::vector<std::thread> threads;
  threads.reserve(statuses.size());
  const absl::Time start = absl::Now();
  for (absl::Status& status : statuses) {
    threads.emplace_back([&] { status = CallUntil(connection, over, answered); });
  }
  absl::SleepFor(absl::GetFlag(FLAGS_duration));
  over = true;
  for (std::thread& thread : threads) thread.join();
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  for (const absl::Status& status : statuses) {
    if (!status.ok()) return status;
  }
  return absl::StrFormat(R"("calls_per_s": %.0f)", static_cast<double>(answered.load()) / seconds);
}

absl::StatusOr<std::string> Measure(const rpc::Options& options, const std::string& address) {
  rpc::Client client(options);
  const auto connection = client.Connect(address, kPatience);
  if (!connection.ok()) return connection.status();
  return absl::GetFlag(FLAGS_measure) == "latency" ? Latency(**connection) : Rate(**connection);
}

int Fail(const absl::Status& status) {
  std::cerr << "bench_rpc: " << status << std::endl;
  return 1;
}

int RunServer(const rpc::Options& options, int address_fd) {
  PinTo(/*server=*/true);
  const absl::Status status = Serve(options, address_fd);
  return status.ok() ? 0 : Fail(status);
}

int RunClient(const rpc::Options& options, const std::string& address) {
  PinTo(/*server=*/false);
  if (address.empty()) return Fail(absl::UnavailableError("no server"));
  const absl::StatusOr<std::string> figures = Measure(options, address);
  if (!figures.ok()) return Fail(figures.status());
  std::cout << absl::StrFormat(R"({"measure": "%s", "bytes": %d, %s})", absl::GetFlag(FLAGS_measure),
                               absl::GetFlag(FLAGS_bytes), *figures)
            << std::endl;
  return 0;
}

int Main(const std::vector<char*>& arguments) {
  const std::string measure = absl::GetFlag(FLAGS_measure);
  const std::string mode = absl::GetFlag(FLAGS_mode);
  if (arguments.size() > 1) return CalledWrongly("there are only --flags; --help lists them");
  if (measure != "latency" && measure != "rate") return CalledWrongly("--measure is latency or rate");
  if (mode != "poll" && mode != "hybrid" && mode != "block") return CalledWrongly("--mode is poll, hybrid or block");
  rpc::Options options;
  options.coalesce = absl::GetFlag(FLAGS_coalesce);
  options.wait_mode = mode == "poll" ? WaitMode::kPoll : mode == "hybrid" ? WaitMode::kHybrid : WaitMode::kBlock;
  ServerProcess server([&](int address_fd) { return RunServer(options, address_fd); });
  return RunClient(options, server.Address());
}

}  // namespace
}  // namespace skein::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("bench_rpc [--measure=latency|rate] [--bytes=64] ...");
  return skein::bench::Main(absl::ParseCommandLine(argc, argv));
}
