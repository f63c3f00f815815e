// Measures one echo server and prints what it found as one line of JSON.
//   --measure=load        what calls of one kind take, after a warm-up, and the processor time of both ends
//   --measure=idle        the processor time of both ends while nothing is called, after one call on each channel
//   --measure=first_call  from the start of main until the first reply: what a short-lived process pays
// Exit status: 0, 1 failed, 2 called wrongly, 3 Skein's Init failed.
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/load_figures.h"
#include "bench/macro/echo.grpc.pb.h"
#include "bench/macro/files.h"
#include "bench/macro/init.h"
#include "bench/macro/load.h"
#include "bench/macro/server.h"
#include "bench/processor_time.h"

ABSL_FLAG(std::string, target, "", "server to call; in-process: one in this process, reached without any connection");
ABSL_FLAG(std::string, measure, "load", "load, idle or first_call");
ABSL_FLAG(std::string, style, "sync", "which of gRPC's client interfaces: sync, async, callback or stream");
ABSL_FLAG(std::string, server_style, "sync", "of a server in this process: callback, or else sync");
ABSL_FLAG(int, callers, 1, "how many calls, or streams, are under way at a time");
ABSL_FLAG(int, channels, 1, "which calls take by turns; each has a connection of its own");
ABSL_FLAG(int64_t, bytes, 64, "of a request and its reply");
ABSL_FLAG(int64_t, large_bytes, 0,
          "of the calls of one more caller on the first channel; only the others' calls count. 0: there is none");
ABSL_FLAG(double, rate, 0, "calls per second, of all callers, made when they are due; 0: each calls again at once");
ABSL_FLAG(int, server_pid, 0,
          "whose processor time is told, too; 0: it is not known, or the server is in this process");
ABSL_FLAG(absl::Duration, duration, absl::Seconds(1), "of a load, after a fifth of it to warm up, or of idling");
ABSL_FLAG(std::string, tls_ca, "", "PEM file of the server's certificate authority; makes it a TLS client");

namespace skein::bench {
namespace {

constexpr size_t kSmallBytes = 64;

bool InProcess() { return absl::GetFlag(FLAGS_target) == "in-process"; }

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  if (SkeinMode() != nullptr) arguments.SetString("skein.mode", SkeinMode());
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // each channel has a connection of its own
  arguments.SetMaxReceiveMessageSize(INT_MAX);
  return arguments;
}

std::shared_ptr<grpc::Channel> OpenChannel() {
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (!absl::GetFlag(FLAGS_tls_ca).empty()) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = ReadFile(absl::GetFlag(FLAGS_tls_ca));
    credentials = grpc::SslCredentials(options);
  }
  return grpc::CreateCustomChannel(absl::GetFlag(FLAGS_target), credentials, Arguments());
}

// `server`: where it is in this process.
Stubs OpenStubs(std::optional<Server>& server) {
  Stubs stubs;
  for (int i = 0; i < absl::GetFlag(FLAGS_channels); ++i) {
    stubs.push_back(Echo::NewStub(server.has_value() ? server->InProcessChannel(Arguments()) : OpenChannel()));
  }
  return stubs;
}

absl::Status CallEach(const Stubs& stubs) {
  const Payload request = PayloadOf(kSmallBytes);
  for (const std::unique_ptr<Echo::Stub>& stub : stubs) {
    if (absl::Status status = CallOnce(*stub, request); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// Seconds that both ends have taken so far.
struct ProcessorTimes {
  double client = 0;
  std::optional<double> server;  // nothing: not known; of a server in this process: zero, for the client's has it all
};

absl::StatusOr<ProcessorTimes> TakeProcessorTimes() {
  ProcessorTimes times;
  times.client = ProcessorSeconds(getpid()).value_or(0);
  if (InProcess()) times.server = 0;
  if (const int server = absl::GetFlag(FLAGS_server_pid); server != 0) {
    times.server = ProcessorSeconds(server);
    if (!times.server.has_value()) return absl::NotFoundError(absl::StrCat("--server_pid: ", server, " has ended"));
  }
  return times;
}

absl::Duration MedianOf(std::vector<absl::Duration>& durations) {
  const auto middle = durations.begin() + static_cast<ptrdiff_t>(durations.size() / 2);
  std::nth_element(durations.begin(), middle, durations.end());
  return *middle;
}

// One more caller, with large calls one after the other for as long as it lives.
class LargeCalls {
 public:
  LargeCalls(Echo::Stub& stub, size_t bytes) : thread_([this, &stub, bytes] { Run(stub, PayloadOf(bytes)); }) {}
  LargeCalls(const LargeCalls&) = delete;
  LargeCalls& operator=(const LargeCalls&) = delete;
  ~LargeCalls() { End().IgnoreError(); }

  absl::Status End() {
    stopped_.store(true, std::memory_order_relaxed);
    if (thread_.joinable()) thread_.join();
    return status_;
  }

 private:
  void Run(Echo::Stub& stub, const Payload& request) {
    while (status_.ok() && !stopped_.load(std::memory_order_relaxed)) status_ = CallOnce(stub, request);
  }

  std::atomic<bool> stopped_{false};  // relaxed: nothing else is shared
  absl::Status status_;               // the thread's until it has been joined
  std::thread thread_;
};

absl::Status MeasureLoad(const Stubs& stubs) {
  std::optional<LargeCalls> large;
  if (const int64_t bytes = absl::GetFlag(FLAGS_large_bytes); bytes > 0) large.emplace(*stubs.front(), bytes);
  Run* const run = RunOf(absl::GetFlag(FLAGS_style));
  Load load = {absl::GetFlag(FLAGS_callers), static_cast<size_t>(absl::GetFlag(FLAGS_bytes)),
               absl::GetFlag(FLAGS_duration) / 5, absl::GetFlag(FLAGS_rate)};
  if (absl::StatusOr<Outcome> warm_up = run(stubs, load); !warm_up.ok()) return warm_up.status();
  load.duration = absl::GetFlag(FLAGS_duration);
  const absl::StatusOr<ProcessorTimes> before = TakeProcessorTimes();
  if (!before.ok()) return before.status();
  BeginStages();
  absl::StatusOr<Outcome> outcome = run(stubs, load);
  if (!outcome.ok()) return outcome.status();
  if (large.has_value()) {
    if (absl::Status status = large->End(); !status.ok()) return status;
  }
  std::vector<absl::Duration> stages = EndStages();
  const absl::StatusOr<ProcessorTimes> after = TakeProcessorTimes();
  if (!after.ok()) return after.status();
  if (outcome->latencies.empty()) return absl::InvalidArgumentError("no call was due within --duration");
  std::optional<double> used;
  if (after->server.has_value()) used = after->client - before->client + *after->server - *before->server;
  std::string figures = LoadFigures(outcome->latencies, outcome->elapsed, load.bytes, used);
  if (!stages.empty()) {
    const absl::Duration sum = MedianOf(stages);
    figures.pop_back();
    absl::StrAppendFormat(&figures, R"(, "stages_us": %.2f, "stages_share": %.2f})", absl::ToDoubleMicroseconds(sum),
                          100 * absl::FDivDuration(sum, MedianOf(outcome->latencies)));
  }
  std::cout << figures << std::endl;
  return absl::OkStatus();
}

absl::Status MeasureIdle() {
  const absl::StatusOr<ProcessorTimes> before = TakeProcessorTimes();
  if (!before.ok()) return before.status();
  absl::SleepFor(absl::GetFlag(FLAGS_duration));
  const absl::StatusOr<ProcessorTimes> after = TakeProcessorTimes();
  if (!after.ok()) return after.status();
  std::cout << IdleFigures(after->client - before->client, after->server.value_or(0) - before->server.value_or(0),
                           absl::GetFlag(FLAGS_duration))
            << std::endl;
  return absl::OkStatus();
}

absl::Status MeasureFirstCall(Echo::Stub& stub, absl::Time start) {
  const Payload request = PayloadOf(kSmallBytes);
  if (absl::Status status = CallOnce(stub, request); !status.ok()) return status;
  const absl::Time first = absl::Now();
  if (absl::Status status = CallOnce(stub, request); !status.ok()) return status;
  std::cout << absl::StreamFormat(R"({"first_call_us": %.1f, "second_call_us": %.1f})",
                                  absl::ToDoubleMicroseconds(first - start),
                                  absl::ToDoubleMicroseconds(absl::Now() - first))
            << std::endl;
  return absl::OkStatus();
}

absl::Status Measure(absl::Time start) {
  std::optional<Server> server;
  if (InProcess()) {
    server.emplace(absl::GetFlag(FLAGS_server_style), "", nullptr);
    if (!*server) return absl::UnavailableError("the server in this process did not start");
  }
  const Stubs stubs = OpenStubs(server);
  if (absl::GetFlag(FLAGS_measure) == "first_call") return MeasureFirstCall(*stubs[0], start);
  if (absl::Status status = CallEach(stubs); !status.ok()) return status;
  return absl::GetFlag(FLAGS_measure) == "load" ? MeasureLoad(stubs) : MeasureIdle();
}

std::string WrongFlags() {
  const std::string measure = absl::GetFlag(FLAGS_measure);
  const double rate = absl::GetFlag(FLAGS_rate);
  if (absl::GetFlag(FLAGS_target).empty()) return "--target is the server to call, or in-process";
  if (measure != "load" && measure != "idle" && measure != "first_call") return "--measure is load, idle or first_call";
  if (RunOf(absl::GetFlag(FLAGS_style)) == nullptr) return "--style is sync, async, callback or stream";
  if (absl::GetFlag(FLAGS_callers) < 1 || absl::GetFlag(FLAGS_channels) < 1) {
    return "--callers and --channels are at least 1";
  }
  if (absl::GetFlag(FLAGS_bytes) < 0 || !(rate >= 0) || std::isinf(rate)) return "--bytes and --rate are at least 0";
  if (absl::GetFlag(FLAGS_duration) <= absl::ZeroDuration()) return "--duration is more than 0";
  if (measure == "idle" && absl::GetFlag(FLAGS_server_pid) == 0 && !InProcess()) return "idle needs --server_pid";
  return "";
}

int Main(absl::Time start) {
  if (const std::string wrong = WrongFlags(); !wrong.empty()) {
    std::cerr << wrong << std::endl;
    return 2;
  }
  const absl::Status status = Measure(start);
  if (status.ok()) return 0;
  std::cerr << status << std::endl;
  return 1;
}

}  // namespace
}  // namespace skein::bench

int main(int argc, char** argv) {
  const auto arguments = absl::ParseCommandLine(argc, argv);
  const absl::Time start = absl::Now();
  if (arguments.size() > 1) {
    std::cerr << "there are only --flags; --help lists them" << std::endl;
    return 2;
  }
  skein::bench::InitTransport();
  skein::bench::KeepGrpc();
  return skein::bench::Main(start);
}
