// Measures one echo server and prints what it found as one line of JSON.
//   --measure=steady      latency of one caller, calls per second of eight, bandwidth of large echoes; warmed up
//   --measure=first_call  from the start of main until the first reply: what a short-lived process pays
#include <grpcpp/grpcpp.h>

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

ABSL_FLAG(std::string, target, "", "server to call");
ABSL_FLAG(std::string, measure, "steady", "steady or first_call");
ABSL_FLAG(std::string, style, "sync", "which of gRPC's client interfaces: sync or callback");
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
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (!absl::GetFlag(FLAGS_tls_ca).empty()) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = ReadFile(absl::GetFlag(FLAGS_tls_ca));
    credentials = grpc::SslCredentials(options);
  }
  return grpc::CreateCustomChannel(absl::GetFlag(FLAGS_target), credentials, arguments);
}

absl::StatusOr<Outcome> Run(Echo::Stub& stub, int callers, size_t bytes) {
  const auto run = absl::GetFlag(FLAGS_style) == "callback" ? RunCallback : RunSync;
  const absl::Duration duration = absl::GetFlag(FLAGS_duration);
  absl::StatusOr<Outcome> warm_up = run(stub, {callers, bytes, duration / 5});
  if (!warm_up.ok()) return warm_up;
  return run(stub, {callers, bytes, duration});
}

double CallsPerSecond(const Outcome& outcome) {
  return static_cast<double>(outcome.latencies.size()) / absl::ToDoubleSeconds(outcome.elapsed);
}

// An echo's bytes count twice: they move there and back.
absl::Status MeasureSteady(Echo::Stub& stub) {
  const absl::StatusOr<Outcome> unary = Run(stub, 1, kSmallBytes);
  if (!unary.ok()) return unary.status();
  const absl::StatusOr<Outcome> crowd = Run(stub, kCallers, kSmallBytes);
  if (!crowd.ok()) return crowd.status();
  const absl::StatusOr<Outcome> large = Run(stub, 1, kLargeBytes);
  if (!large.ok()) return large.status();
  std::cout << absl::StreamFormat(
                   R"({"unary_p50_us": %.2f, "unary_p99_us": %.2f, "calls_per_s": %.0f, "echo_mb_per_s": %.1f})",
                   absl::ToDoubleMicroseconds(Percentile(*unary, 0.5)),
                   absl::ToDoubleMicroseconds(Percentile(*unary, 0.99)), CallsPerSecond(*crowd),
                   CallsPerSecond(*large) * 2 * kLargeBytes / 1e6)
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

int Main(absl::Time start) {
  const std::unique_ptr<Echo::Stub> stub = Echo::NewStub(OpenChannel());
  const absl::Status status =
      absl::GetFlag(FLAGS_measure) == "first_call" ? MeasureFirstCall(*stub, start) : MeasureSteady(*stub);
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
