// Measures one echo server and prints what it found as one line of JSON.
//   --measure=steady      latency of one caller, calls per second of eight, bandwidth of large echoes; warmed up
//   --measure=load        one load (--callers, --channels, --bytes, --rate), also by streams: latencies as they were
//   due,
//                         and the processor time of both ends
//   --measure=first_call  from the start of main until the first reply: what a short-lived process pays
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/macro/echo.grpc.pb.h"
#include "bench/macro/files.h"
#include "bench/macro/init.h"
#include "bench/macro/load.h"
#include "bench/processor_time.h"

ABSL_FLAG(std::string, target, "", "server to call");
ABSL_FLAG(std::string, measure, "steady", "steady, load or first_call");
ABSL_FLAG(std::string, style, "sync", "which of gRPC's client interfaces: sync, async, callback or stream");
ABSL_FLAG(int, callers, 1, "of a load: how many calls, or streams, are under way at a time");
ABSL_FLAG(int, channels, 1, "of a load: over which the callers are spread");
ABSL_FLAG(int64_t, bytes, 64, "of a load's request and its reply");
ABSL_FLAG(double, rate, 0, "of a load: calls per second, of all callers; 0: each calls again at once");
ABSL_FLAG(int, server_pid, 0, "of a load: whose processor time is told, too");
ABSL_FLAG(absl::Duration, duration, absl::Seconds(1), "of each of the three measurements of --measure=steady");
ABSL_FLAG(std::string, tls_ca, "", "PEM file of the server's certificate authority; makes it a TLS client");

namespace skein::bench {
namespace {

constexpr int kCallers = 8;
constexpr size_t kSmallBytes = 64;
constexpr size_t kLargeBytes = 1 << 20;

std::shared_ptr<grpc::Channel> OpenChannel() {
  grpc::ChannelArguments arguments;
  if (SkeinMode() != nullptr) arguments.SetString("skein.mode", SkeinMode());
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // each channel has a connection of its own
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (!absl::GetFlag(FLAGS_tls_ca).empty()) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = ReadFile(absl::GetFlag(FLAGS_tls_ca));
    credentials = grpc::SslCredentials(options);
  }
  return grpc::CreateCustomChannel(absl::GetFlag(FLAGS_target), credentials, arguments);
}

absl::StatusOr<Outcome> WarmAndRun(const Stubs& stubs, Load load) {
  Run* const run = RunOf(absl::GetFlag(FLAGS_style));
  load.duration = absl::GetFlag(FLAGS_duration) / 5;
  absl::StatusOr<Outcome> warm_up = run(stubs, load);
  if (!warm_up.ok()) return warm_up;
  load.duration = absl::GetFlag(FLAGS_duration);
  return run(stubs, load);
}

// An echo's bytes count twice: they move there and back.
absl::Status MeasureSteady(const Stubs& stubs) {
  const absl::StatusOr<Outcome> unary = WarmAndRun(stubs, {.callers = 1, .bytes = kSmallBytes});
  if (!unary.ok()) return unary.status();
  const absl::StatusOr<Outcome> crowd = WarmAndRun(stubs, {.callers = kCallers, .bytes = kSmallBytes});
  if (!crowd.ok()) return crowd.status();
  const absl::StatusOr<Outcome> large = WarmAndRun(stubs, {.callers = 1, .bytes = kLargeBytes});
  if (!large.ok()) return large.status();
  std::cout << absl::StreamFormat(
                   R"({"unary_p50_us": %.2f, "unary_p99_us": %.2f, "calls_per_s": %.0f, "echo_mb_per_s": %.1f})",
                   absl::ToDoubleMicroseconds(Percentile(*unary, 0.5)),
                   absl::ToDoubleMicroseconds(Percentile(*unary, 0.99)), CallsPerSecond(*crowd),
                   CallsPerSecond(*large) * 2 * kLargeBytes / 1e6)
            << std::endl;
  return absl::OkStatus();
}

// Of both processes, as far as they are known and have not ended.
double SecondsOfBothEnds() {
  const int server = absl::GetFlag(FLAGS_server_pid);
  return ProcessorSeconds(getpid()).value_or(0) + (server == 0 ? 0 : ProcessorSeconds(server).value_or(0));
}

absl::Status MeasureLoad(const Stubs& stubs) {
  Run* const run = RunOf(absl::GetFlag(FLAGS_style));
  Load load = {absl::GetFlag(FLAGS_callers), static_cast<size_t>(absl::GetFlag(FLAGS_bytes)),
               absl::GetFlag(FLAGS_duration) / 5, absl::GetFlag(FLAGS_rate)};
  if (absl::StatusOr<Outcome> warm_up = run(stubs, load); !warm_up.ok()) return warm_up.status();
  load.duration = absl::GetFlag(FLAGS_duration);
  const double processor = SecondsOfBothEnds();
  const absl::StatusOr<Outcome> outcome = run(stubs, load);
  if (!outcome.ok()) return outcome.status();
  const double used = SecondsOfBothEnds() - processor;
  const auto us = [&](double fraction) { return absl::ToDoubleMicroseconds(Percentile(*outcome, fraction)); };
  std::cout << absl::StreamFormat(
                   R"({"p50_us": %.2f, "p90_us": %.2f, "p99_us": %.2f, "p999_us": %.2f, "calls_per_s": %.1f, )"
                   R"("mb_per_s": %.2f, "cpu_us_per_call": %.2f})",
                   us(0.5), us(0.9), us(0.99), us(0.999), CallsPerSecond(*outcome),
                   CallsPerSecond(*outcome) * static_cast<double>(load.bytes) / 1e6,
                   used * 1e6 / static_cast<double>(outcome->latencies.size()))
            << std::endl;
  return absl::OkStatus();
}

absl::Status MeasureFirstCall(Echo::Stub& stub, absl::Time start) {
  Payload request;
  request.set_data(std::string(kSmallBytes, 'g'));
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
  const std::string measure = absl::GetFlag(FLAGS_measure);
  Stubs stubs;
  for (int i = 0; i < absl::GetFlag(FLAGS_channels); ++i) stubs.push_back(Echo::NewStub(OpenChannel()));
  if (measure == "first_call") return MeasureFirstCall(*stubs[0], start);
  return measure == "load" ? MeasureLoad(stubs) : MeasureSteady(stubs);
}

std::string WrongFlags() {
  const std::string measure = absl::GetFlag(FLAGS_measure);
  if (measure != "steady" && measure != "load" && measure != "first_call") {
    return "--measure is steady, load or first_call";
  }
  if (RunOf(absl::GetFlag(FLAGS_style)) == nullptr) return "--style is sync, async, callback or stream";
  if (absl::GetFlag(FLAGS_rate) > 0 && absl::GetFlag(FLAGS_style) != "sync") return "--rate is for --style=sync";
  if (absl::GetFlag(FLAGS_callers) < 1 || absl::GetFlag(FLAGS_channels) < 1 || absl::GetFlag(FLAGS_bytes) < 0) {
    return "--callers and --channels are at least 1, --bytes 0";
  }
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
  absl::ParseCommandLine(argc, argv);
  const absl::Time start = absl::Now();
  skein::bench::InitTransport();
  return skein::bench::Main(start);
}
